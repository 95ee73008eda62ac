import AppStore
import EntitleStage
import Entitlements
import Holdings
package import JSON
import Postgres
import Store

/// A purchase of a user: its entitlements, its owner and Apple's facts.
struct ExplainedPurchase: JSONRepresentable {
    let key: PurchaseKey
    let owner: StoredOwner
    private(set) var held: [EntitlementRow] = []
    private(set) var transactions: [ExplainedTransaction] = []
    private(set) var renewals: [PurchaseDetails.Renewal] = []

    init(_ row: OwnerTable.Row) {
        key = row.key
        owner = row.owner
    }

    /// - Parameter userID: whose rows are shown; nil for those of all its users, each named.
    func lines(now: Int64, of userID: Identifier?) -> [String] {
        let phrase = owner.userID.map { "\($0), by \(owner.rule)" } ?? "nobody, \(owner.rule)"
        var lines = ["", "Purchase \(key.originalTransactionID) of \(key.bundleID): owned by \(phrase)"]
        let spans = owner.ownership.spans
        if spans.count > 1 { lines.append("  owners in turn: \(spans.map(\.phrase).joined(separator: ", "))") }
        for held in held {
            let isActive = held.periods.contains(Timestamp(milliseconds: now))
            let holder = userID == nil ? " of \(held.userID)" : ""
            lines.append("  \(held.key)\(holder): \(isActive ? "ACTIVE" : "not active")")
            lines.append("    \(held.periods.stored.phrase)\(held.terms.phrase)")
        }
        if held.isEmpty { lines.append("  grants \(userID == nil ? "nobody an" : "this user no") entitlement") }
        if owner.userID == nil { lines.append("  \(unownedPhrase)") }
        return lines + transactions.flatMap { $0.lines(of: userID) } + renewals.flatMap(\.lines)
    }

    /// The missing link, and the command that would add it.
    private var unownedPhrase: String {
        let account = owner.appTransactionID.map { ", or its app_transaction_id \($0)" } ?? ""
        let reason =
            transactions.contains(where: \.hasAccountToken)
            ? "nobody is linked to its account token" : "it carries no account token"
        return "\(reason): link that, its original_transaction_id \(key.originalTransactionID)\(account)"
    }

    var json: JSONContent {
        [
            "environment": key.environment.rawValue, "bundle_id": key.bundleID,
            "original_transaction_id": key.originalTransactionID, "owner_id": owner.userID, "owner_rule": owner.rule,
            "owner_spans": owner.ownership.spans, "app_transaction_id": owner.appTransactionID, "entitlements": held,
            "transactions": transactions, "renewals": renewals,
        ]
    }
}

extension OwnershipSpan: JSONRepresentable {
    fileprivate var phrase: String { from.map { "\(userID) from \($0.toSecond)" } ?? userID.text }

    package var json: JSONContent { ["user_id": userID, "from": from] }
}

extension ExplainedPurchase {
    /// Reads the purchases of a subject, as a part of a pipeline.
    struct Reading {
        private let owners: Pipeline.Token<OwnerTable.Row>
        private let held: Pipeline.Token<EntitlementTable.Row>
        private let transactions: Pipeline.Token<PurchaseDetails.SignedTransaction>
        private let renewals: Pipeline.Token<PurchaseDetails.Renewal>
        private let credits: Pipeline.Token<LedgerTable.Row>

        init(_ details: PurchaseDetails, of subject: PurchaseDetails.Subject, in pipeline: inout Pipeline) {
            owners = pipeline.add(details.owners, subject)
            held = pipeline.add(details.held, subject)
            transactions = pipeline.add(details.transactions, subject)
            renewals = pipeline.add(details.renewals, subject)
            credits = pipeline.add(details.credits, subject)
        }

        /// - Parameter userID: whose contributions are shown; nil for all users'.
        func purchases(_ answers: PipelineAnswers, of userID: Identifier?, _ client: PostgresClient) async throws
            -> [ExplainedPurchase]
        {
            var found: [PurchaseKey: ExplainedPurchase] = [:]
            for row in answers[owners] { found[row.key] = ExplainedPurchase(row) }
            for row in answers[held] { found[row.purchase]?.held.append(row.row) }
            for signed in answers[transactions] { found[signed.fact.purchaseKey]?.add(signed) }
            for renewal in answers[renewals] { found[renewal.purchase]?.renewals.append(renewal) }
            for row in answers[credits] { found[row.purchase]?.add(row.credit) }
            let keys = found.keys.sorted()
            let contributions = try await Reprojector(client: client).contributions(of: keys)
            for key in keys { found[key]?.add(contributions[key] ?? [], of: userID) }
            return keys.compactMap { found[$0] }
        }
    }

    /// A transaction comes with a row for each content that was ever signed of it.
    private mutating func add(_ signed: PurchaseDetails.SignedTransaction) {
        let known = transactions.firstIndex { $0.fact.key == signed.fact.key && $0.fact.track == signed.fact.track }
        if known == nil { transactions.append(ExplainedTransaction(fact: signed.fact)) }
        if let source = signed.source { transactions[known ?? transactions.count - 1].sources.append(source) }
    }

    /// Adds a credit to its transaction; if that came by two tracks, to the first of them.
    private mutating func add(_ credit: LedgerCredit) {
        let known = transactions.firstIndex { $0.fact.key.transactionID == credit.transactionID }
        if let known { transactions[known].credits.append(credit) }
    }

    /// - Parameter userID: whose; nil for all users'.
    private mutating func add(_ contributions: [Contribution], of userID: Identifier?) {
        let own = contributions.filter { contribution in
            contribution.userID == nil || userID == nil || contribution.userID == userID
        }
        let byID = Dictionary(grouping: own, by: \.transactionID)
        for index in transactions.indices {
            transactions[index].contributions = byID[transactions[index].fact.key.transactionID] ?? []
        }
    }
}

extension EntitlementRow: JSONRepresentable {
    package var json: JSONContent { ["user_id": userID, "entitlement": key, "periods": periods.stored] + terms.json }
}

extension PurchaseDetails.Renewal: JSONRepresentable {
    fileprivate var lines: [String] {
        var words = [fact.autoRenewStatus == 1 ? "renews" : "does not renew"]
        if let product = fact.autoRenewProductID { words.append("as \(product)") }
        if fact.isInBillingRetry == true { words.append("in billing retry") }
        if isGraceWithoutEnd { words.append("a grace announced without its end grants nothing") }
        if let end = fact.gracePeriodExpiresDate { words.append("grace until \(end.toSecond)") }
        return ["  renewal info: \(words.joined(separator: ", "))"] + (source.map { ["    \($0.phrase)"] } ?? [])
    }

    /// Whether the notification that brought it announced a grace period, and it names no end.
    private var isGraceWithoutEnd: Bool {
        guard fact.gracePeriodExpiresDate == nil, let type = source?.notificationType else { return false }
        return NotificationMeaning(type: type, subtype: source?.notificationSubtype) == .gracePeriodBegan
    }

    package var json: JSONContent {
        .members(of: fact) + ["is_grace_without_end": isGraceWithoutEnd, "source": source]
    }
}
