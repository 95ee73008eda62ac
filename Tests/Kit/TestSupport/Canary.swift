import Foundation
package import Kafka
import Simulation

/// An original with a secret in each of its parts, to be looked for where it must not be shown.
package struct Canary: Sendable, CustomStringConvertible {
    package let name: String
    package var key: [UInt8]? = Array("\(word)-key".utf8)
    package let value: [UInt8]
    package var headers: [KafkaHeader] = hiddenHeaders

    package var description: String { name }

    /// A word that each secret contains, and no other text.
    private static let word = "kanarie7"
    /// A telephone number, written as a number.
    private static let number = "4915112345678"

    /// The secrets in a text, plain or encoded.
    package static func leaks(in text: String) -> [String] {
        let encoded = (0..<3).map { offset in
            let bytes = [UInt8](repeating: 0x20, count: offset) + Array(word.utf8)
            let base64 = Data(bytes).base64EncodedString().filter { $0 != "=" }
            // Characters that hold bits of what stands before or behind.
            return String(base64.dropFirst(offset == 0 ? 0 : offset + 1).dropLast())
        }
        let hex = Array(word.utf8).map { String($0, radix: 16) }
        let forms = [word, word.uppercased(), number, hex.joined(), hex.joined(separator: " ")] + encoded
        return forms.filter { text.contains($0) }
    }

    package static func all() throws -> [Canary] {
        let authority = try CertificateAuthority()
        let object = object(members)
        let token = try authority.sign(
            Array(object.utf8),
            headerSegment: CertificateAuthority.headerSegment(
                certificates: authority.chain, leading: #""kid":"\#(word)@example.com","\#(word)":1,"#))
        let text = String(decoding: token, as: UTF8.self)
        let outer = try authority.sign(Array(#"{"data":{"signedTransactionInfo":"\#(text)"}}"#.utf8))
        return [
            Canary(name: "an object", value: Array(object.utf8)),
            Canary(name: "a list", value: Array("[\(object),\"\(word)-1\",\(number)]".utf8)),
            Canary(name: "a text", value: Array("\"\(word)-1\"".utf8)),
            Canary(name: "a form", value: Array("password=\(word)&user=\(word)".utf8)),
            Canary(name: "half an object", value: Array(object.utf8.dropLast(9))),
            Canary(name: "no text", value: [0xFF, 0] + Array(word.utf8)), Canary(name: "a token", value: token),
            Canary(name: "a notification", value: Body.notification(outer)),
            Canary(name: "a token under a secret", value: Array(#"{"\#(word)":"\#(text)"}"#.utf8)),
            Canary(name: "a receipt", value: Body.receipt(try receipt())),
            Canary(name: "an iOS 6 receipt", value: Body.receipt(legacyReceipt)),
            Canary(
                name: "headers of any name", key: nil, value: [],
                headers: shownHeaders.map { KafkaHeader(name: $0, text: "\(word)@example.com") }),
        ]
    }

    /// Headers that the tools show where their form is harmless.
    private static let shownHeaders = [
        "correlation-id", "traceparent", "producer", "client-id", "source", "ce_source", "content-type",
        "dlq.replay-of", "dlq.detail", "dlq.chain", "dlq.worker",
    ]

    private static let hiddenHeaders =
        ["user-id", "authorization", "cookie", "X-Api-Key", "Producer", "\(word)-name"].map {
            KafkaHeader(name: $0, text: "\(word)-header")
        } + [KafkaHeader(nameBytes: [0xFF] + Array(word.utf8), value: Array(word.utf8))]

    /// Names that may be shown, each with text that no identifier has; then names of secrets, of
    /// persons and of devices, and names that nobody knows.
    private static let members: [(String, String)] =
        [
            "transactionId", "originalTransactionId", "bundleId", "productId", "environment", "type", "reason",
            "status", "version", "subtype", "storefront", "currency", "source", "rule",
        ].flatMap { name in
            [
                (name, "\"\(word)@example.com\""), (name, "\"mine is \(word)\""), (name, "\"eyJ\(word).e30.e30\""),
                (name, "\"\(word)" + longRun + "\""), (name, "{\"\(word)\":\"\(word)\"}"), (name, "[\"\(word) two\"]"),
            ]
        }
        + [
            "password", "sharedSecret", "shared_secret", "appAccountToken", "app_account_token", "applicationUsername",
            "user", "userID", "userId", "user_id", "ingestUserID", "email", "name", "displayName", "description",
            "address", "phone", "device", "deviceVerification", "deviceVerificationNonce", "opaqueValue", "deviceHash",
            "attributes", "value", "token", "authorization", "appTransactionId", "appTransactionID",
            "externalPurchaseId", "consistencyToken", "requestReferenceId", "signedPayload", "signedTransactionInfo",
            "receipt-data", "x5c", "unclaimSeatIds", "\(word)-member", "Type", "type ", "",
        ].flatMap { name in
            [
                (name, "\"\(word)-value\""), (name, number), (name, "[\"\(word)-element\"]"),
                (name, "{\"type\":\"\(word)-inner\",\"quantity\":\(number)}"),
            ]
        }

    private static let longRun = String(repeating: "A0", count: 40)

    private static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private static func receipt() throws -> [UInt8] {
        var fields = ReceiptFields()
        fields.bundleID = "\(word)@example.com"
        fields.applicationVersion = "of \(word)"
        fields.records = [ReceiptRecordFields()]
        fields.records[0].productID = "\(word)@example.com"
        fields.further = [6, 7, 25, 99].map { ReceiptFields.attribute($0, text: "\(word)-text") }
        return try CertificateAuthority(.receipts(name: "Test")).receiptText(fields)
    }

    private static var legacyReceipt: [UInt8] {
        let purchase = Base64Text.standard(
            Array(
                """
                {"transaction-id" = "\(word) 7"; "unique-identifier" = "\(word)";
                "bid" = "\(word)@example.com";}
                """.utf8))
        let list =
            "{\"signature\" = \"\(word)\"; \"purchase-info\" = \"" + String(decoding: purchase, as: UTF8.self) + "\";}"
        return Base64Text.standard(Array(list.utf8))
    }
}
