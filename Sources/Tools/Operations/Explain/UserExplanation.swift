import AppStore
import Commands
package import JSON
import Postgres
import Store

/// All that is known of a user in one environment, and why.
struct UserExplanation {
    let userID: Identifier
    let environment: String
    /// The version of the applied catalog.
    ///
    /// `nil` while no catalog was applied.
    var catalogVersion: Int64?
    /// Version of the user's last change; nil without a change.
    var version: Int64?
    var purchases: [ExplainedPurchase] = []
    var grants: [UserDetails.Grant] = []
    var balances: [(currency: Identifier, amount: Int64)] = []
    var debits: [UserDetails.Debit] = []
    var changes: [RecordedChange] = []
    var others: [UserDetails.OtherEnvironment] = []

    /// Whether anything is known of the user in this environment.
    var isFound: Bool { !(purchases.isEmpty && grants.isEmpty && debits.isEmpty && changes.isEmpty) }

    func lines(now: Int64) -> [String] {
        let catalog = catalogVersion.map { "catalog version \($0)" } ?? "no catalog"
        let version = version.map { "version \($0)" } ?? "no change yet"
        var lines = ["\(userID), \(environment): \(version), \(catalog)"]
        if purchases.isEmpty, grants.isEmpty {
            lines += ["", "nothing was bought by them or granted to them in \(environment)"]
        }
        if let first = others.first {
            let phrases = others.map(\.phrase).joined(separator: ", ")
            lines += ["", "Not shown: \(phrases); ask with --environment \(first.name)"]
        }
        lines += purchases.flatMap { $0.lines(now: now, of: userID) }
        lines += grants.flatMap { $0.lines(now: now) }
        if !balances.isEmpty { lines += ["", "Balance: " + balances.map { "\($1) \($0)" }.joined(separator: ", ")] }
        lines += debits.map { "  \($0.phrase)" }
        if !changes.isEmpty { lines += ["", "Changes:"] + changes.flatMap(\.lines) }
        return lines
    }

    func json(now: Int64) -> JSONContent {
        let balances = balances.map { currency, amount -> JSONContent in ["currency": currency, "amount": amount] }
        return [
            "user_id": userID, "environment": environment, "at": Timestamp(milliseconds: now), "version": version,
            "catalog_version": catalogVersion, "purchases": purchases, "grants": grants, "balances": balances,
            "debits": debits, "other_environments": others, "changes": changes,
        ]
    }
}

extension UserExplanation {
    /// Reads it all; a moment later some of it may be different.
    static func read(_ userID: Identifier, _ environment: String, _ client: PostgresClient) async throws
        -> UserExplanation
    {
        var user = UserExplanation(userID: userID, environment: environment)
        let subject = PurchaseDetails.Subject(id: userID, environment: environment)
        var pipeline = Pipeline()
        let versions = pipeline.add(UserDetails.versions, userID)
        let grants = pipeline.add(UserDetails.grants, subject)
        let balances = pipeline.add(UserDetails.balances, subject)
        let changes = pipeline.add(UserDetails.changes, subject)
        let debits = pipeline.add(UserDetails.debits, subject)
        let others = pipeline.add(UserDetails.otherEnvironments, subject)
        let purchases = ExplainedPurchase.Reading(.ofUser, of: subject, in: &pipeline)
        let answers = try await client.run(pipeline)
        user.version = answers[versions][0].user
        user.catalogVersion = answers[versions][0].catalog
        user.grants = Array(answers[grants])
        user.balances = Array(answers[balances])
        user.changes = Array(answers[changes])
        user.debits = Array(answers[debits])
        user.others = Array(answers[others])
        user.purchases = try await purchases.purchases(answers, of: userID, client)
        return user
    }
}

extension UserDetails.OtherEnvironment: JSONRepresentable {
    package var json: JSONContent { ["environment": name, "purchases": purchases, "grants": grants] }

    fileprivate var phrase: String {
        let counted = [
            purchases > 0 ? Quantity.counted(purchases, "purchase") : nil,
            grants > 0 ? Quantity.counted(grants, "grant") : nil,
        ]
        return "\(counted.compactMap { $0 }.joined(separator: " and ")) in \(name)"
    }
}
