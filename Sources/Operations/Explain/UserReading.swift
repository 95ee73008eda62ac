import AppStore
import EntitleStage
import Entitlements
import Postgres

extension UserExplanation {
    /// Reads it all; a moment later some of it may be different.
    static func read(
        _ userID: String,
        _ environment: String,
        _ client: PostgresClient
    ) async throws -> UserExplanation {
        var user = UserExplanation(userID, environment)
        let about: [PostgresValue] = [.text(userID), .text(environment)]
        let statements = UserReading.statements + UserReading.purchases.statements
        let answers = try await client.withConnection { connection in
            try await connection.pipeline(statements.map { PostgresStatement($0, about) })
        }
        user.take(answers)
        let contributions = try await Reprojector(client: client)
            .contributions(of: user.purchases.map(\.key))
        for index in user.purchases.indices {
            user.purchases[index].take(contributions[user.purchases[index].key] ?? [], of: userID)
        }
        return user
    }

    private mutating func take(_ answers: [PostgresRows]) {
        version = answers[0][0].optionalInt8(0)
        catalogVersion = answers[0][0].optionalInt8(1)
        grants = answers[1].map { ExplainedGrant($0) }
        balances = answers[2].map { ($0.text(0), $0.int8(1)) }
        changes = answers[3].map { ExplainedChange($0) }
        debits = answers[4].map { ExplainedDebit($0) }
        others = answers[5].map { row in
            OtherEnvironment(name: row.text(0), purchases: row.int8(1), grants: row.int8(2))
        }
        purchases = UserReading.purchases.purchases(
            answers[UserReading.statements.count...],
            in: Environment(rawValue: environment)
        )
    }
}

/// The questions about a user ($1) in an environment ($2).
private enum UserReading {
    /// Every purchase that grants or has granted the user something, or credited their ledger.
    static let purchases = PurchaseReading(
        theirs: """
            (
                SELECT bundle_id, original_transaction_id FROM entitlements
                WHERE user_id = $1 AND environment = $2
                UNION
                SELECT bundle_id, original_transaction_id FROM changes
                WHERE user_id = $1 AND environment = $2 AND grant_id IS NULL
                UNION
                SELECT bundle_id, original_transaction_id FROM ledger
                WHERE user_id = $1 AND environment = $2
            ) AS theirs
            """,
        ofUser: "AND held.user_id = $1"
    )

    static let statements = [
        """
        SELECT (SELECT version FROM user_versions WHERE user_id = $1 AND $2::text <> ''),
               (SELECT max(version)::int8 FROM catalog_versions)
        """,
        """
        SELECT \(ExplainedGrant.columns) FROM grants
        WHERE user_id = $1 AND environment = $2 ORDER BY grant_id
        """,
        """
        SELECT currency, ledger_balance($1, currency, $2) FROM (
            SELECT currency FROM ledger WHERE user_id = $1 AND environment = $2
            UNION
            SELECT currency FROM ledger_debits WHERE user_id = $1 AND environment = $2
        ) AS held ORDER BY currency
        """,
        """
        SELECT \(ExplainedChange.columns) FROM changes
        WHERE user_id = $1 AND environment = $2 ORDER BY version
        """,
        """
        SELECT \(ExplainedDebit.columns) FROM ledger_debits
        WHERE user_id = $1 AND environment = $2 ORDER BY debited_at, reference
        """,
        """
        SELECT environment, count(bundle_id), count(grant_id) FROM (
            SELECT environment, bundle_id, original_transaction_id, NULL::int8 AS grant_id
            FROM entitlements WHERE user_id = $1
            UNION
            SELECT environment, bundle_id, original_transaction_id, NULL
            FROM changes WHERE user_id = $1 AND grant_id IS NULL
            UNION
            SELECT environment, bundle_id, original_transaction_id, NULL
            FROM ledger WHERE user_id = $1
            UNION
            SELECT environment, NULL, NULL, grant_id FROM grants WHERE user_id = $1
        ) AS theirs
        WHERE environment <> $2 GROUP BY environment ORDER BY environment
        """,
    ]
}
