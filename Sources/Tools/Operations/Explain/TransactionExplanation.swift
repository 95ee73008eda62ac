import AppStore
import JSON
import Postgres
import Store

/// The purchase behind a transaction ID, with or without an owner.
struct TransactionExplanation {
    let transactionID: Identifier
    let environment: String
    /// The version of the applied catalog.
    ///
    /// `nil` while no catalog was applied.
    private var catalogVersion: Int64?
    /// The purchases with the ID; more than one if several apps' purchases have it.
    private var purchases: [ExplainedPurchase] = []
    private var changes: [RecordedChange] = []

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
            lines += ["", "Changes of those who own it, or owned it before a transfer:"]
            lines += changes.flatMap { ["  \($0.userID)"] + $0.lines }
        }
        return lines
    }

    func json(now: Int64) -> JSONContent {
        [
            "transaction_id": transactionID, "environment": environment, "at": Timestamp(milliseconds: now),
            "catalog_version": catalogVersion, "purchases": purchases, "changes": changes,
        ]
    }
}

extension TransactionExplanation {
    /// Reads it all; a moment later some of it may be different.
    static func read(_ transactionID: Identifier, _ environment: String, _ client: PostgresClient) async throws
        -> TransactionExplanation
    {
        var found = TransactionExplanation(transactionID: transactionID, environment: environment)
        let subject = PurchaseDetails.Subject(id: transactionID, environment: environment)
        var pipeline = Pipeline()
        let catalog = pipeline.add(CatalogTable.newestVersion)
        let changes = pipeline.add(UserDetails.changesOfTransaction, subject)
        let purchases = ExplainedPurchase.Reading(.ofTransaction, of: subject, in: &pipeline)
        let answers = try await client.run(pipeline)
        found.catalogVersion = answers[catalog][0]
        found.changes = Array(answers[changes])
        found.purchases = try await purchases.purchases(answers, of: nil, client)
        return found
    }
}
