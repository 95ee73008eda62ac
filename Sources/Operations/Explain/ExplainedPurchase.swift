import AppStore
import Entitlements
import JSON
import Postgres

/// One purchase of a user: what it grants, to whom, and what Apple says of it.
struct ExplainedPurchase {
    struct Held {
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
    var held: [Held] = []
    var transactions: [ExplainedTransaction] = []
    var renewals: [Renewal] = []

    init(key: PurchaseKey) {
        self.key = key
    }

    func lines(now: Int64) -> [String] {
        let owner = ownerID.map { "\($0), by \(ownerRule)" } ?? "nobody, \(ownerRule)"
        var lines = [
            "", "Purchase \(key.originalTransactionID) of \(key.bundleID): owned by \(owner)",
        ]
        if let ownerSpans {
            lines.append("  owners in turn: \(String(decoding: ownerSpans, as: UTF8.self))")
        }
        for held in held {
            let isActive = held.periods.contains { $0.contains(now) }
            lines.append("  \(held.key): \(isActive ? "ACTIVE" : "not active")")
            lines.append("    \(held.periods.phrase)")
        }
        if held.isEmpty {
            lines.append("  grants this user no entitlement")
        }
        return lines + transactions.flatMap(\.lines) + renewals.flatMap(\.lines)
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
            writer.key("entitlements")
            writer.array { writer in
                for held in held {
                    writer.object { writer in
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
