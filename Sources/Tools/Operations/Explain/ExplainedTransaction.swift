import AppStore
import Commands
import Entitlements
import Holdings
package import JSON
import Postgres
import Records
import Store

/// A transaction of a purchase, with all that support staff may be asked about it.
struct ExplainedTransaction: JSONRepresentable {
    let fact: TransactionFact
    var sources: [ContentSource] = []
    var contributions: [Contribution] = []
    var credits: [LedgerCredit] = []

    var hasAccountToken: Bool { fact.appAccountToken != nil }

    /// - Parameter userID: whose credits are shown; nil for those of all users, each named.
    func lines(of userID: Identifier?) -> [String] {
        var words = ["bought \(fact.identity.purchaseDate.toSecond)"]
        if let expiresDate = fact.expiresDate { words.append("billed until \(expiresDate.toSecond)") }
        if let revocationDate = fact.revocation?.date { words.append("revoked \(revocationDate.toSecond)") }
        if fact.isUpgraded == true { words.append("upgraded") }
        if let quantity = fact.identity.quantity, quantity > 1 { words.append("quantity \(quantity)") }
        if let revoked = fact.revokedSeatQuantity, revoked > 0 {
            words.append("\(Quantity.counted(revoked, "seat")) refunded")
        }
        if let reason = fact.additionalTransactionReason { words.append("one of several for \(reason)") }
        if let phrase = fact.ownershipType?.phrase { words.append(phrase) }
        if !hasAccountToken { words.append("no account token") }
        let productID = fact.identity.productID
        let kind = [productID.text, fact.identity.type?.rawValue, fact.track == .receipt ? "from a receipt" : nil]
            .compactMap { $0 }.joined(separator: ", ")
        let rules = contributions.map { contribution in
            "    rule \(contribution.rule.rawValue): "
                + (contribution.period.map { PostgresPeriod($0).phrase } ?? "grants nothing")
                + (contribution.productID == productID ? "" : " of \(contribution.productID)")
        }
        return ["  transaction \(fact.key.transactionID): \(kind)"] + ["    \(words.joined(separator: ", "))"] + rules
            + credits.map { "    \($0.phrase(isOfOneUser: userID != nil))" } + sources.map { "    \($0.phrase)" }
    }

    var json: JSONContent {
        [
            "transaction_id": fact.key.transactionID, "track": fact.track.rawValue,
            "product_id": fact.identity.productID, "product_type": fact.identity.type?.rawValue,
            "purchase_date": fact.identity.purchaseDate, "quantity": fact.identity.quantity,
        ] + .members(of: fact.value) + ["rules": contributions, "credits": credits, "sources": sources]
    }
}

extension Contribution: JSONRepresentable {
    package var json: JSONContent {
        ["rule": rule.rawValue, "product_id": productID, "periods": period.map { [PostgresPeriod($0)] } ?? []]
    }
}

extension EntitlementTerms {
    /// The members as JSON, null if Apple does not state them.
    var json: JSONContent {
        [
            "ownership_type": ownershipType?.rawValue, "seats": seats,
            "additional_transaction_reason": additionalTransactionReason,
        ]
    }

    /// `, 12 seats, several transactions for SEAT_ADDITION`.
    var phrase: String {
        [
            ownershipType?.phrase, seats.map { Quantity.counted($0, "seat") },
            additionalTransactionReason.map { "several transactions for \($0)" },
        ].compactMap { $0 }.map { ", \($0)" }.joined()
    }
}

extension OwnershipType {
    /// The ownership in words.
    ///
    /// `nil` for the customer's own purchase, as nearly all are.
    fileprivate var phrase: String? {
        switch self {
        case .purchased: nil
        case .familyShared: "family shared"
        case .assigned: "a seat assigned by an organization"
        case .other(let name): "owned as \(name)"
        }
    }
}

extension PostgresPeriod {
    init(_ period: Period) {
        self.init(startMilliseconds: period.start.milliseconds, endMilliseconds: period.end?.milliseconds)
    }
}

/// The credit of a transaction to a balance.
extension LedgerCredit: JSONRepresentable {
    fileprivate func phrase(isOfOneUser: Bool) -> String {
        var words = ["credits \(amount) \(currency) for \(productID)"]
        if !isOfOneUser { words[0] += " to \(userID)" }
        if let revocationDate { words.append("\(takenBack) taken back \(revocationDate.toSecond)") }
        return words.joined(separator: ", ")
    }

    package var json: JSONContent {
        [
            "product_id": productID, "currency": currency, "user_id": userID, "amount": amount, "taken_back": takenBack,
            "revoked_at": revocationDate,
        ]
    }
}

extension ContentSource: JSONRepresentable {
    /// `DID_RENEW/BILLING_RECOVERY`; nil if no notification brought it.
    private var notification: String? {
        notificationType.map { type in notificationSubtype.map { "\(type)/\($0)" } ?? type }
    }

    var phrase: String {
        let signed = signedDate.toSecond
        guard let notification else { return "signed \(signed), read at \(position)" }
        return "signed \(signed), by notification \(notification), read at \(position)"
    }

    package var json: JSONContent {
        [
            "record": position, "signed_at": signedDate, "recorded_at": recordedAt, "notification": notification,
            "notification_uuid": notificationUUID,
        ]
    }
}
