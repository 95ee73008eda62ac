import AppStore
import Commands
import Derivation
import Entitlements
package import JSON
import Postgres
import Reports
import Settings
import Store

extension ToolCommand {
    static let explain = ToolCommand(
        "explain",
        "Shows what a user may use and why, for support staff.\n\n"
            + "Of every entitlement: the transactions behind it, the rule by which each "
            + "counts, the notification and the raw record that brought it, the owner and the "
            + "rule of ownership. Besides: manual grants, the balance, and every change with "
            + "its cause. --transaction explains one purchase, by the ID of any of its "
            + "transactions, also one without an owner; Apple's server API lists the "
            + "transactions of an order number. --known-at shows only what was known of the user at that instant.",
        operands: "[USER]", operandCount: 0...1,
        options: [
            CommandOption("transaction", argument: "ID", "Explain this purchase instead of a user."), .environment,
            CommandOption("known-at", argument: "DATE", "Show what was known then, such as 2026-03-02T12:00:00Z."),
            CommandOption("at", argument: "DATE", "The instant at which a right is called active; now unless given."),
            CommandOption("limit", argument: "N", "Maximum rows of each list, the newest; 1000 unless given."),
            .postgres, .config, .json,
        ]
    ) { context in
        let environment = try context.environment()
        let at = try context.arguments.value("at", as: .instant).map { StoredTime($0) }
        let knownAt = try context.arguments.value("known-at", as: .instant).map { StoredTime($0) }
        let transactionID = context.arguments.value("transaction").map { Identifier($0) }
        let rowsMax = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 1_000
        let userID = context.arguments.operands.first.map { Identifier($0) }
        if transactionID != nil, knownAt != nil {
            throw UsageError("--known-at is asked of a user, and not of a --transaction")
        }
        let answer = try await context.withDatabase { connection in
            try await connection.snapshot { connection in
                let rows =
                    switch (userID, transactionID) {
                    case (let id?, nil):
                        try await connection.run(SupportAnswers.user, (id, environment, knownAt, at, rowsMax))
                    case (nil, let id?):
                        try await connection.run(SupportAnswers.transaction, (id, environment, at, rowsMax))
                    default: throw UsageError("expected either a USER or a --transaction")
                    }
                return try await Explanation(rows[0].root, of: userID, in: environment, connection)
            }
        }
        context.console.print(answer: answer.json, context.arguments)
        if !answer.isFound, !context.isJSON {
            context.console.print(
                "nothing is recorded of \((userID ?? transactionID)?.text ?? "") in \(environment): ask for another "
                    + "--environment, and dead-letter list for what was refused")
        }
        return ExitCode.answer(answer.isFound)
    }
}

/// An answer of the database, with the rule by which each transaction counts.
private struct Explanation {
    let json: JSONContent
    /// Whether anything is known of the subject.
    let isFound: Bool

    /// - Parameter user: whose rules are added; nil for those of all users.
    init(_ answer: JSONValue, of user: Identifier?, in environment: String, _ connection: PostgresConnection)
        async throws
    {
        isFound = ["purchases", "grants", "debits", "changes", "entitlements"].contains { answer[$0]?.count ?? 0 > 0 }
        let keys = answer["purchases"]?.elements.compactMap { PurchaseKey(explained: $0) } ?? []
        let version = try await connection.run(CatalogTable.newestVersion)[0]
        let catalog = try await CatalogStore().catalog(version: version, connection).catalog
        // The rules are computed as entitle-worker does, from all facts of the purchases.
        let fold = try await BatchFold(reading: Array(Set(keys.map(\.scope))), whole: true, on: connection)
        let projector = try await BatchProjector(fold, by: catalog, inSnapshot: connection)
        let states = try await connection.run(RecoveryRequestTable.tokenStates, keys)
        let tokens = Dictionary(states.map { ($0.purchase, $0) }, uniquingKeysWith: { first, _ in first })
        let originals = keys.map(\.originalTransactionID)
        let requests =
            keys.isEmpty ? [] : Array(try await connection.run(RefundTable.ofPurchases, (environment, originals)))
        json = JSONContent(answer, each: "purchases") { purchase in
            let key = PurchaseKey(explained: purchase)
            let token = key.flatMap { tokens[$0] }.map { ["result": $0.result, "at": $0.at] as JSONContent }
            let own = key.map(projector.contributions)?.filter { rule in
                rule.userID == nil || user == nil || rule.userID == user
            }
            let byID = Dictionary(grouping: own ?? [], by: \.transactionID)
            let explained =
                JSONContent(purchase, each: "transactions") { transaction in
                    JSONContent(transaction) + [
                        "rules": transaction["transaction_id"]?.identifier.flatMap { byID[$0] } ?? []
                    ]
                } + ["apple_account_token": token]
            let refunds = requests.filter { request in
                request.bundleID == purchase["bundle_id"]?.identifier
                    && request.originalTransactionID == purchase["original_transaction_id"]?.identifier
            }
            guard !refunds.isEmpty else { return explained }
            let lines = refunds.map { JSONContent($0, RefundTable.Row.columns) }
            return explained + ["refund_requests": lines]
        }
    }
}

extension PurchaseKey {
    fileprivate init?(explained purchase: JSONValue) {
        guard let environment = purchase["environment"]?.string.flatMap({ Environment(rawValue: $0) }),
            let bundleID = purchase["bundle_id"]?.identifier,
            let originalTransactionID = purchase["original_transaction_id"]?.identifier
        else { return nil }
        self.init(environment: environment, bundleID: bundleID, originalTransactionID: originalTransactionID)
    }
}

extension JSONContent {
    /// Copies an object, with other elements in one of its lists.
    fileprivate init(_ object: JSONValue, each list: String, _ change: (JSONValue) -> JSONContent) {
        self = .object(
            object.members.map { key, value in
                let name = key.string ?? ""
                return (name, name == list ? .array(value.elements.map(change)) : JSONContent(value))
            })
    }
}

extension Contribution: JSONRepresentable {
    package var json: JSONContent {
        ["rule": rule.rawValue, "product_id": productID, "periods": period.map { [$0.json] } ?? []]
    }
}

extension Period: JSONRepresentable { package var json: JSONContent { ["start": start, "end": end] } }
