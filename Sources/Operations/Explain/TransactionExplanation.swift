import AppStore
import EntitleStage
import Entitlements
import JSON
import Postgres

/// What is known of the purchase behind a transaction ID, whoever owns it, also where nobody does.
struct TransactionExplanation {
    let transactionID: String
    let environment: String
    /// Nil while no catalog was applied.
    private var catalogVersion: Int64?
    /// More than one where several apps' purchases have the ID.
    private var purchases: [ExplainedPurchase] = []
    private var changes: [(userID: String, change: ExplainedChange)] = []

    var isFound: Bool { !purchases.isEmpty }

    func lines(now: Int64) -> [String] {
        let catalog = catalogVersion.map { "catalog version \($0)" } ?? "no catalog"
        var lines = ["Transaction \(transactionID), \(environment): \(catalog)"]
        guard isFound else {
            return lines + [
                "",
                "no such transaction or purchase is recorded in \(environment): ask for another "
                    + "--environment, and dead-letter list for what was refused",
            ]
        }
        lines += purchases.flatMap { $0.lines(now: now, of: nil) }
        if !changes.isEmpty {
            lines += ["", "Changes of those who own or owned it:"]
            lines += changes.flatMap { ["  \($0.userID)"] + $0.change.lines }
        }
        return lines
    }

    func json(now: Int64) -> String {
        var writer = JSONWriter(reserving: 8_192)
        writer.object { writer in
            writer.member("transactionID", transactionID)
            writer.member("environment", environment)
            writer.member("at", now)
            writer.optional("catalogVersion", catalogVersion)
            writer.key("purchases")
            writer.array { writer in
                purchases.forEach { $0.write(to: &writer) }
            }
            writer.key("changes")
            writer.array { writer in
                for (userID, change) in changes {
                    change.write(to: &writer, of: userID)
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension TransactionExplanation {
    /// Reads it all; a moment later some of it may be different.
    static func read(
        _ transactionID: String,
        _ environment: String,
        _ client: PostgresClient
    ) async throws -> TransactionExplanation {
        var found = TransactionExplanation(transactionID: transactionID, environment: environment)
        let about: [PostgresValue] = [.text(transactionID), .text(environment)]
        let questions = ([changes] + reading.statements).map { PostgresStatement($0, about) }
        let answers = try await client.withConnection { connection in
            try await connection.pipeline([catalog] + questions)
        }
        found.catalogVersion = answers[0][0].optionalInt8(0)
        found.changes = answers[1].map { ($0.text(10), ExplainedChange($0)) }
        found.purchases = reading.purchases(
            answers[2...],
            in: Environment(rawValue: environment)
        )
        let contributions = try await Reprojector(client: client)
            .contributions(of: found.purchases.map(\.key))
        for index in found.purchases.indices {
            let key = found.purchases[index].key
            found.purchases[index].take(contributions[key] ?? [], of: nil)
        }
        return found
    }

    /// By the transaction itself, or by the first one of its purchase.
    private static let theirs = """
        (
            SELECT bundle_id, original_transaction_id FROM transactions
            WHERE transaction_id = $1 AND environment = $2
            UNION
            SELECT bundle_id, original_transaction_id FROM transactions
            WHERE original_transaction_id = $1 AND environment = $2
        ) AS theirs
        """

    private static let reading = PurchaseReading(theirs: theirs, ofUser: "")

    private static let catalog = PostgresStatement(
        "SELECT max(version)::int8 FROM catalog_versions"
    )

    /// The history is kept by user, so it is asked for those whose purchase it is or was.
    private static let changes = """
        SELECT \(ExplainedChange.columns), change.user_id
        FROM (
            SELECT theirs.*, whose.user_id
            FROM \(theirs)
            CROSS JOIN LATERAL (
                SELECT fact.user_id FROM entitlements AS fact
                WHERE fact.original_transaction_id = theirs.original_transaction_id
                    AND fact.environment = $2 AND fact.bundle_id = theirs.bundle_id
                UNION
                SELECT fact.user_id FROM ledger AS fact
                WHERE fact.original_transaction_id = theirs.original_transaction_id
                    AND fact.environment = $2 AND fact.bundle_id = theirs.bundle_id
                UNION
                SELECT coalesce(span ->> 0, owner.user_id) FROM owners AS owner
                LEFT JOIN LATERAL json_array_elements(owner.spans) AS span ON true
                WHERE owner.original_transaction_id = theirs.original_transaction_id
                    AND owner.environment = $2 AND owner.bundle_id = theirs.bundle_id
            ) AS whose
        ) AS held
        JOIN changes AS change USING (user_id, bundle_id, original_transaction_id)
        WHERE change.environment = $2
        ORDER BY change.user_id, change.version
        """
}
