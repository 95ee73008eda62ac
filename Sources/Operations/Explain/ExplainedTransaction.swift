import AppStore
import Entitlements
import Holdings
import JSON
import Postgres
import Records
import Settings
import Store

/// One transaction of a purchase, with all that support staff may be asked about it.
struct ExplainedTransaction {
    let fact: TransactionFact
    var sources: [ContentSource] = []
    var contributions: [Contribution] = []
    var credits: [LedgerCredit] = []

    var hasAccountToken: Bool { fact.appAccountToken != nil }

    /// - Parameter userID: whose credits are shown; nil for those of all users, each named.
    func lines(of userID: Identifier?) -> [String] {
        var words = ["bought \(CalendarDate.instant(fact.identity.purchaseDate))"]
        if let expiresDate = fact.expiresDate {
            words.append("billed until \(CalendarDate.instant(expiresDate))")
        }
        if let revocationDate = fact.revocation?.date {
            words.append("revoked \(CalendarDate.instant(revocationDate))")
        }
        if fact.isUpgraded == true { words.append("upgraded") }
        if let quantity = fact.identity.quantity, quantity > 1 {
            words.append("quantity \(quantity)")
        }
        if let revoked = fact.revokedSeatQuantity, revoked > 0 {
            words.append("\(Quantity.counted(revoked, "seat")) refunded")
        }
        if let reason = fact.additionalTransactionReason {
            words.append("one of several for \(reason)")
        }
        if let phrase = fact.ownershipType?.phrase { words.append(phrase) }
        if !hasAccountToken { words.append("no account token") }
        let productID = fact.identity.productID
        let kind = [
            productID.text, fact.identity.type?.rawValue,
            fact.track == .receipt ? "from a receipt" : nil,
        ].compactMap { $0 }.joined(separator: ", ")
        let rules = contributions.map { contribution in
            "    rule \(contribution.rule.rawValue): "
                + (contribution.period.map { PostgresPeriod($0).phrase } ?? "grants nothing")
                + (contribution.productID == productID ? "" : " of \(contribution.productID)")
        }
        return [
            "  transaction \(fact.key.transactionID): \(kind)"
        ]
            + ["    \(words.joined(separator: ", "))"] + rules
            + credits.map { "    \($0.phrase(isOfOneUser: userID != nil))" }
            + sources.map { "    \($0.phrase)" }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("transactionID", fact.key.transactionID)
            writer.member("productID", fact.identity.productID)
            writer.member("type", fact.identity.type?.rawValue)
            writer.member("track", fact.track.rawValue)
            writer.member("purchaseDate", fact.identity.purchaseDate.milliseconds)
            writer.optional("expiresDate", fact.expiresDate?.milliseconds)
            writer.optional("revocationDate", fact.revocation?.date.milliseconds)
            writer.member("isUpgraded", fact.isUpgraded ?? false)
            writer.member("ownershipType", fact.ownershipType?.rawValue)
            writer.optional("quantity", fact.identity.quantity.map { Int64($0) })
            writer.optional("revokedSeatQuantity", fact.revokedSeatQuantity.map { Int64($0) })
            writer.member("additionalTransactionReason", fact.additionalTransactionReason)
            writer.member("hasAccountToken", hasAccountToken)
            writer.key("rules")
            writer.array { writer in
                for contribution in contributions {
                    writer.object { writer in
                        writer.member("rule", contribution.rule.rawValue)
                        writer.member("productID", contribution.productID)
                        writer.key("periods")
                        writer.periods(contribution.period.map { [PostgresPeriod($0)] } ?? [])
                    }
                }
            }
            writer.key("credits")
            writer.array { writer in
                for credit in credits {
                    credit.write(to: &writer)
                }
            }
            writer.key("sources")
            writer.array { writer in
                for source in sources {
                    source.write(to: &writer)
                }
            }
        }
    }
}

extension EntitlementTerms {
    /// `, 12 seats, several transactions for SEAT_ADDITION`.
    var phrase: String {
        [
            ownershipType?.phrase,
            seats.map { Quantity.counted($0, "seat") },
            additionalTransactionReason.map { "several transactions for \($0)" },
        ].compactMap { $0 }.map { ", \($0)" }.joined()
    }
}

extension OwnershipType {
    /// Nil for the customer's own purchase, as nearly all are.
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
        self.init(
            startMilliseconds: period.start.milliseconds,
            endMilliseconds: period.end?.milliseconds
        )
    }
}

extension JSONWriter {
    mutating func optional(_ key: StaticString, _ number: Int64?) {
        self.key(key)
        if let number { int(number) } else { null() }
    }
}

/// The credit of a transaction to a balance.
extension LedgerCredit {
    fileprivate func phrase(isOfOneUser: Bool) -> String {
        var words = ["credits \(amount) \(currency) for \(productID)"]
        if !isOfOneUser { words[0] += " to \(userID)" }
        if let revocationDate {
            words.append("\(takenBack) taken back \(CalendarDate.instant(revocationDate))")
        }
        return words.joined(separator: ", ")
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("productID", productID)
            writer.member("currency", currency)
            writer.member("userID", userID)
            writer.member("amount", amount)
            writer.member("takenBack", takenBack)
            writer.optional("revocationDate", revocationDate?.milliseconds)
        }
    }
}

extension ContentSource {
    /// `DID_RENEW/BILLING_RECOVERY`; nil if no notification brought it.
    private var notification: String? {
        notificationType.map { type in
            notificationSubtype.map { "\(type)/\($0)" } ?? type
        }
    }

    var phrase: String {
        let signed = CalendarDate.instant(signedDate)
        let record = "\(topic)/\(partition)/\(offset)"
        guard let notification else { return "signed \(signed), read at \(record)" }
        return "signed \(signed), by notification \(notification), read at \(record)"
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.position(topic: topic, partition: partition, offset: offset)
            writer.member("signedDate", signedDate.milliseconds)
            writer.member("recordedAt", recordedAt.milliseconds)
            writer.member("notification", notification)
            writer.member("notificationUUID", notificationUUID)
        }
    }
}

extension CalendarDate {
    static func instant(_ date: Timestamp) -> String {
        instant(milliseconds: date.milliseconds)
    }
}
