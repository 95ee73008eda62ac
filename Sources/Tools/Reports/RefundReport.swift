import AppStore
package import Commands
import JSON
package import Store

extension RefundTable.Row {
    /// The columns of a list, and the members of a request's JSON.
    package static let columns: [ReportColumn<RefundTable.Row>] = [
        .init("requested_at", title: "requested", \.requestedAt), .init("outcome", \.outcome),
        .init("preference", \.preference), .init("decision", title: "Apple", \.decision),
        .init("product_id", title: "product", rank: 1, \.productID),
        .init("request_reason", title: "because", rank: 3, \.requestReason),
        .init("user_id", title: "user", rank: 2, \.userID), .init("request_id", title: "id", \.id),
        .member("environment", \.environment.rawValue), .member("bundle_id", \.bundleID),
        .member("original_transaction_id", \.originalTransactionID), .member("transaction_id", \.transactionID),
        .member("product_type", \.productType),
        .init("price", rank: 4, \.price, cell: { $0.price.map(RefundMoney.text) ?? "-" }),
        .init("currency", rank: 4, \.currency), .member("deadline", \.deadline), .member("ended_at", \.endedAt),
        .member("answer_in_words", \.answerInWords),
        .member("answer") { $0.answer.map { JSONContent.raw(Array($0.bytes)) } ?? .null },
        .member("evidence") { $0.evidence.map { JSONContent.raw(Array($0.bytes)) } ?? .null },
        .member("error_code", \.errorCode), .member("decided_by", \.decidedBy), .member("reason", \.reason),
        .member("decision_at", \.decisionAt),
    ]

    /// The answer in words.
    ///
    /// `nil` without an answer.
    package var answerInWords: String? {
        guard let answer = answer?.root else { return nil }
        let status = answer["deliveryStatus"]
        let isDelivered = status?.string == "DELIVERED" || status?.int64 == 0
        var words = [isDelivered ? "delivered" : "not delivered"]
        if let share = answer["consumptionPercentage"]?.int64 {
            words.append("\(Double(share) / 1_000) % consumed".replacing(".0 %", with: " %"))
        }
        switch answer["consumptionStatus"]?.int64 {
        case 1: words.append("not consumed")
        case 2: words.append("consumed in part")
        case 3: words.append("consumed")
        default: break
        }
        switch preference {
        case "decline": words.append("a decline is preferred")
        case "grant_full": words.append("a full refund is preferred")
        case "grant_prorated": words.append("a refund of the rest is preferred")
        default: words.append("no preference")
        }
        if answer["sampleContentProvided"]?.bool == true { words.append("tried for free before") }
        return words.joined(separator: ", ")
    }
}

extension RefundTable.Count {
    package static let columns: [ReportColumn<RefundTable.Count>] = [
        .init("product_id", title: "product", \.productID), .init("outcome", \.outcome),
        .init("preference", \.preference), .init("decision", title: "Apple", \.decision), .init("requests", \.count),
        .init("price", rank: 1, \.price, cell: { $0.price.map(RefundMoney.text) ?? "-" }),
        .init("currency", rank: 1, \.currency),
    ]
}

/// The money of refund requests in one currency.
package struct RefundMoney: Sendable {
    package let currency: String
    /// Sums in thousandths, at most the greatest number.
    package private(set) var asked: Int64 = 0
    package private(set) var refunded: Int64 = 0

    /// Adds up counts by currency.
    package static func of(_ counts: [RefundTable.Count]) -> [RefundMoney] {
        var sums: [String: RefundMoney] = [:]
        for count in counts {
            guard let currency = count.currency?.text, let price = count.price else { continue }
            var sum = sums[currency] ?? RefundMoney(currency: currency)
            sum.asked = Int64(clamping: Int128(sum.asked) + Int128(price))
            if count.decision == "refunded" { sum.refunded = Int64(clamping: Int128(sum.refunded) + Int128(price)) }
            sums[currency] = sum
        }
        return sums.values.sorted { $0.currency < $1.currency }
    }

    /// Formats thousandths of a currency, such as `1,234.50`.
    package static func text(_ thousandths: Int64) -> String {
        let rest = Int(thousandths.magnitude % 1_000)
        let digits = rest % 10 == 0 ? String(100 + rest / 10) : String(1_000 + rest)
        return (thousandths < 0 ? "-" : "") + Quantity.grouped(thousandths.magnitude / 1_000) + "." + digits.dropFirst()
    }

    package static let columns: [ReportColumn<RefundMoney>] = [
        .init("currency", \.currency), .words("asked for", .right) { text($0.asked) },
        .words("refunded", .right) { text($0.refunded) },
    ]
}

extension RefundRequestTable {
    /// The outcomes by which a list is filtered.
    package static let outcomes = Outcome.allCases.map(\.rawValue) + ["waiting"]
}
