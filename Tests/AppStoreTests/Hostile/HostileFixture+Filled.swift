import AppStore
import JSON
import OpenSSL
import Simulation

@testable import Benchmarks

extension HostileFixture {
    /// A body's JSON around one item, with further members beside the item.
    private struct Shape {
        let name: String
        let head: String
        let tail: String
        var isReceipt: Bool { name == "receipt-data" }

        /// A shape for each member that may hold a signed item.
        static let all =
            [
                "signedPayload", "signedTransaction", "signedTransactionInfo", "signedRenewalInfo",
                "signedAppTransactionInfo", "receipt-data",
            ].map { Shape(name: $0, head: "{\"\($0)\":\"", tail: "}") } + [
                Shape(name: "signedTransactions", head: "{\"signedTransactions\":[\"", tail: "}"),
                Shape(name: "data", head: #"{"data":[{"lastTransactions":[{"signedTransactionInfo":""#, tail: "}]}]}"),
                Shape(name: "notificationHistory", head: #"{"notificationHistory":[{"signedPayload":""#, tail: "}]}"),
            ]

        /// - Parameter members: each with its comma before it.
        func body(item: String, members: String, count: Int) -> [UInt8] {
            let end = name == "signedTransactions" ? "\"]" : "\""
            let text = head + item + end + members
            let room = max(0, count - text.utf8.count - tail.utf8.count)
            return Array((text + String(repeating: " ", count: room) + tail).utf8)
        }
    }

    /// The content that is costliest to read, in the item or beside it.
    private enum Filling: String, CaseIterable {
        case escapes = "escapes"
        case characters = "regional indicators"
        case keys = "escaped keys"
        case alike = "keys that differ in two bytes"
        case nesting = "nesting"

        var item: (unit: String, isFilled: Bool) {
            switch self {
            case .escapes: (#"\u0041"#, true)
            case .characters: ("\u{1F1E6}", true)
            case .keys, .alike, .nesting: ("a.b.c", false)
            }
        }

        /// Members within the number of values that a document may have.
        func members(_ count: Int) -> String {
            switch self {
            case .escapes, .characters: ""
            case .keys: (0..<count / 18).map { #","\u006b\#(100_000 + $0)":0"# }.joined()
            case .alike:
                ",\"x\":[" + Array(repeating: Self.object, count: count / Self.object.utf8.count).joined(separator: ",")
                    + "]"
            case .nesting: ",\"x\":[" + Array(repeating: Self.deep, count: 1_500).joined(separator: ",") + "]"
            }
        }

        /// Keys of equal length with equal first, middle and last bytes.
        private static let object =
            "{" + (10..<41).map { "\"\(String(repeating: "a", count: 28))\($0)a\":0" }.joined(separator: ",") + "}"
        private static let deep = String(repeating: "[", count: 56) + String(repeating: "]", count: 56)
    }

    /// An unsigned body of each shape, filled with each of what is costly, of a good one's size.
    static func filledShapes(_ count: Int) -> [HostileCase] {
        let rows = Shape.all.flatMap { shape in
            Filling.allCases.map { filling in
                let (unit, isFilled) = filling.item
                let times = isFilled ? (count - 100) / unit.utf8.count : 1
                let body = shape.body(
                    item: String(repeating: unit, count: times), members: filling.members(count - 100), count: count)
                let reason: RefusalReason = shape.isReceipt ? .receiptMalformed : .jwsMalformed
                return ("\(shape.name), \(filling.rawValue)", body, reason)
            }
        }
        return HostileCase.all(by: .response, rows)
    }

    /// Genuine items with unsigned bytes beside them.
    static func unsignedParts(_ items: [[UInt8]], _ authority: CertificateAuthority, _ count: Int) throws
        -> [HostileCase]
    {
        let half = Array(items.prefix(items.count / 2))
        let members = (0..<count / 2 / 18).map { "\"member\(100_000 + $0)\":0" }
        let history = String(decoding: Body.history(half).dropLast(), as: UTF8.self)
        let claims = history + "," + members.joined(separator: ",") + #","bundleId":"x"}"#
        let dot = [UInt8(ascii: ".")]
        let payload = Filling.keys.members(count * 2 / 3).dropFirst()
        let nobody = Base64Text.url([UInt8](repeating: 0x11, count: 64))
        var old = TransactionFields()
        old.signedDate = 1
        var deep = TransactionFields()
        let levels = VerifierLimits.payloadStandard.depthMax
        deep.overrides["added"] = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let unsigned = authority.headerSegment + dot
        let keys = unsigned + Base64Text.url(Array("{\(payload)}".utf8)) + dot + nobody
        let oldDate = unsigned + Base64Text.url(old.json) + dot + nobody
        let long = ["productID": "\"\(String(repeating: "a", count: count))\""] as KeyValuePairs
        return HostileCase.all(
            by: .response,
            [
                ("members beside items, a claim last", Array(claims.utf8), .claimMismatch),
                ("a claim as long as a body", Body.transaction(half[0], claims: long), .envelopeMalformed),
                ("a genuine header over a payload of escaped keys", keys, .signatureInvalid),
            ])
            + HostileCase.all([
                ("a genuine header over an old date", oldDate, .signatureInvalid),
                ("a signed payload one level too deep", try authority.sign(deep.json), .payloadMalformed),
            ])
    }

    /// A chain of one's own whose leaf has the point at infinity for its key: anybody could sign.
    static func infiniteKey() throws -> HostileCase {
        let infinity = DER.sequence([
            DER.sequence([DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7")]),
            DER.bitString([0]),
        ])
        let forger = try CertificateAuthority(name: "Forger's") { $0.leaf.subjectPublicKeyInfo = infinity }
        let token = try forger.sign(BenchTransaction.payload(0))
        return HostileCase("a key at infinity", [token], .certificateMalformed)
    }

    /// Receipts of iOS 6 at the most that is read of one, of what a text is costliest to search.
    static func searchedReceipts() -> [HostileCase] {
        let units = [("regional indicators", "\u{1F1E6}"), ("accents", "\u{301}"), ("quotes", "\"")]
        let rows = units.map { name, unit in
            let list = "{\"" + String(repeating: unit, count: 64_000 / unit.utf8.count)
            let body = Body.receipt(Base64Text.standard(Array(list.utf8)))
            return ("a receipt of iOS 6 of \(name)", body, RefusalReason.receiptMalformed)
        }
        return HostileCase.all(by: .largeReceipt, rows)
    }
}
