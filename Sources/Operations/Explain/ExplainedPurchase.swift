import AppStore
import Entitlements
import Holdings
import JSON
import Postgres

/// One purchase of a user: what it grants, to whom, and what Apple says of it.
struct ExplainedPurchase {
    struct Held {
        let userID: String
        let key: String
        let periods: [PostgresPeriod]
    }

    struct Renewal {
        let autoRenewProductID: String?
        let autoRenewStatus: Int64?
        let isInBillingRetry: Bool?
        let graceUntil: Int64?
        let source: ExplainedSource?
    }

    let key: PurchaseKey
    /// Nil for nobody.
    var ownerID: String?
    var ownerRule = "unlinked"
    /// As the table has it: `[["user", null], ["next user", from_ms], …]`.
    var ownerSpans: [UInt8]?
    /// By what else the purchase can be linked; nil where no fact names one.
    var appTransactionID: String?
    var held: [Held] = []
    var transactions: [ExplainedTransaction] = []
    var renewals: [Renewal] = []

    init(key: PurchaseKey) {
        self.key = key
    }

    /// - Parameter userID: whose rows are shown; nil for those of all its users, each named.
    func lines(now: Int64, of userID: String?) -> [String] {
        let owner = ownerID.map { "\($0), by \(ownerRule)" } ?? "nobody, \(ownerRule)"
        var lines = [
            "", "Purchase \(key.originalTransactionID) of \(key.bundleID): owned by \(owner)",
        ]
        if let ownerSpans {
            lines.append("  owners in turn: \(String(decoding: ownerSpans, as: UTF8.self))")
        }
        for held in held {
            let isActive = held.periods.contains { $0.contains(now) }
            let holder = userID == nil ? " of \(held.userID)" : ""
            lines.append("  \(held.key)\(holder): \(isActive ? "ACTIVE" : "not active")")
            lines.append("    \(held.periods.phrase)")
        }
        if held.isEmpty {
            lines.append("  grants \(userID == nil ? "nobody an" : "this user no") entitlement")
        }
        if ownerID == nil {
            lines.append("  \(unownedPhrase)")
        }
        return lines + transactions.flatMap { $0.lines(of: userID) } + renewals.flatMap(\.lines)
    }

    /// What is missing, and what would mend it.
    private var unownedPhrase: String {
        let account = appTransactionID.map { ", or its app_transaction_id \($0)" } ?? ""
        let reason =
            transactions.contains(where: \.hasAccountToken)
            ? "nobody is linked to its account token" : "it carries no account token"
        return "\(reason): link that, its original_transaction_id "
            + "\(key.originalTransactionID)\(account)"
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("environment", key.environment.rawValue)
            writer.member("bundleID", key.bundleID)
            writer.member("originalTransactionID", key.originalTransactionID)
            writer.member("ownerID", ownerID)
            writer.member("ownerRule", ownerRule)
            if let ownerSpans {
                writer.key("ownerSpans")
                writer.raw(ownerSpans)
            }
            writer.member("appTransactionID", appTransactionID)
            writer.key("entitlements")
            writer.array { writer in
                for held in held {
                    writer.object { writer in
                        writer.member("userID", held.userID)
                        writer.member("entitlement", held.key)
                        writer.key("periods")
                        writer.periods(held.periods)
                    }
                }
            }
            writer.key("transactions")
            writer.array { writer in
                for transaction in transactions {
                    transaction.write(to: &writer)
                }
            }
            writer.key("renewals")
            writer.array { writer in
                for renewal in renewals {
                    renewal.write(to: &writer)
                }
            }
        }
    }
}

extension ExplainedPurchase.Renewal {
    fileprivate var lines: [String] {
        var words = [autoRenewStatus == 1 ? "renews" : "does not renew"]
        if let autoRenewProductID { words.append("as \(autoRenewProductID)") }
        if isInBillingRetry == true { words.append("in billing retry") }
        if let graceUntil {
            words.append("grace until \(CalendarDate.instant(milliseconds: graceUntil))")
        }
        return ["  renewal info: \(words.joined(separator: ", "))"]
            + (source.map { ["    \($0.phrase)"] } ?? [])
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("autoRenewProductID", autoRenewProductID)
            writer.optional("autoRenewStatus", autoRenewStatus)
            writer.key("isInBillingRetry")
            if let isInBillingRetry { writer.bool(isInBillingRetry) } else { writer.null() }
            writer.optional("graceUntil", graceUntil)
            if let source {
                writer.key("source")
                source.write(to: &writer)
            }
        }
    }
}
