import AppStore
import Entitlements
import Holdings
import JSON
import Postgres

/// One transaction of a purchase, with all that support staff may be asked about it.
struct ExplainedTransaction {
    let id: String
    let productID: String
    let type: String?
    let purchaseDate: Int64
    let expiresDate: Int64?
    let revocationDate: Int64?
    let isUpgraded: Bool
    let isFamilyShared: Bool
    let hasAccountToken: Bool
    let track: String
    var sources: [ExplainedSource] = []
    var contributions: [Contribution] = []
    var credits: [ExplainedCredit] = []

    /// The columns of `PurchaseReading.transactions`, from the third on.
    init(_ row: PostgresRow) {
        id = row.text(2)
        productID = row.text(3)
        type = row.optionalText(4)
        purchaseDate = row.int8(5)
        expiresDate = row.optionalInt8(6)
        revocationDate = row.optionalInt8(7)
        isUpgraded = row.optionalBool(8) ?? false
        isFamilyShared = row.bool(9)
        hasAccountToken = row.bool(10)
        track = row.text(11)
    }

    /// - Parameter userID: whose credits are shown; nil for those of all users, each named.
    func lines(of userID: String?) -> [String] {
        var words = ["bought \(CalendarDate.instant(milliseconds: purchaseDate))"]
        if let expiresDate {
            words.append("billed until \(CalendarDate.instant(milliseconds: expiresDate))")
        }
        if let revocationDate {
            words.append("revoked \(CalendarDate.instant(milliseconds: revocationDate))")
        }
        if isUpgraded { words.append("upgraded") }
        if isFamilyShared { words.append("family shared") }
        if !hasAccountToken { words.append("no account token") }
        let kind = [productID, type, track == "receipt" ? "from a receipt" : nil]
        let rules = contributions.map { contribution in
            "    rule \(contribution.rule.rawValue): "
                + (contribution.period.map { PostgresPeriod($0).phrase } ?? "grants nothing")
                + (contribution.productID == productID ? "" : " of \(contribution.productID)")
        }
        return ["  transaction \(id): \(kind.compactMap { $0 }.joined(separator: ", "))"]
            + ["    \(words.joined(separator: ", "))"] + rules
            + credits.map { "    \($0.phrase(isOfOneUser: userID != nil))" }
            + sources.map { "    \($0.phrase)" }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("transactionID", id)
            writer.member("productID", productID)
            writer.member("type", type)
            writer.member("track", track)
            writer.member("purchaseDate", purchaseDate)
            writer.optional("expiresDate", expiresDate)
            writer.optional("revocationDate", revocationDate)
            writer.member("isUpgraded", isUpgraded)
            writer.member("isFamilyShared", isFamilyShared)
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
