import AppStore
import Kafka
import Operations
import Simulation

/// A record that is made to hurt, named by its fault.
struct HostileRecord: Sendable {
    let name: String
    /// The expected reason of the refusal.
    ///
    /// `nil` for a genuine record that only looks odd.
    let reason: RefusalReason?
    var key: [UInt8]? = Array("com.example.pro".utf8)
    let value: [UInt8]?
    var headers: [KafkaHeader] = []

    func record(topic: String, partition: Int32) -> ProducerRecord {
        ProducerRecord(topic: topic, partition: partition, key: key, value: value, headers: headers)
    }

    /// - Parameter bytesMax: of the largest value that the broker takes.
    static func all(_ authority: CertificateAuthority, bytesMax: Int) throws -> [HostileRecord] {
        let largest = HostileRecord(name: "\(bytesMax) bytes", reason: .payloadTooLarge, value: noise(bytesMax))
        return try [largest] + bodies + headersAndKeys + tokens(authority) + numbers(authority)
    }

    /// Incompressible bytes.
    static func noise(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return [0x80] + (1..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    private static let bodies: [HostileRecord] = [
        .init(name: "NULL value", reason: .bodyUnrecognized, value: nil),
        .init(name: "empty value", reason: .bodyUnrecognized, value: []),
        .init(name: "just above 1 MiB", reason: .payloadTooLarge, value: noise((1 << 20) + 1)),
        .init(
            name: "10,000 arrays deep", reason: .envelopeMalformed,
            value: Array(String(repeating: "[", count: 10_000).utf8)),
        .init(
            name: "10,000 objects deep", reason: .envelopeMalformed,
            value: Array(String(repeating: #"{"a":"#, count: 10_000).utf8)),
        .init(
            name: "invalid UTF-8 in a member", reason: .envelopeMalformed,
            value: Array(#"{"signedTransaction":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)),
        .init(name: "invalid UTF-8 alone", reason: .bodyUnrecognized, value: [0x80, 0x81, 0xFF]),
        .init(name: "dots alone", reason: .jwsMalformed, value: Array("..".utf8)),
    ]

    private static let headersAndKeys: [HostileRecord] = [
        .init(name: "NULL key", reason: .bodyUnrecognized, key: nil, value: [0x80]),
        .init(name: "empty key", reason: .bodyUnrecognized, key: [], value: [0x81]),
        .init(name: "a key of noise", reason: .bodyUnrecognized, key: noise(64), value: [0x82]),
        .init(
            name: "headers twice, NULL, empty, unreadable, and one of a dead letter's own", reason: .bodyUnrecognized,
            value: [0x83],
            headers: [
                KafkaHeader(name: "correlation-id", text: "a"), KafkaHeader(name: "correlation-id", text: "b"),
                KafkaHeader(name: "correlation-id", value: nil), KafkaHeader(name: "empty", value: []),
                KafkaHeader(nameBytes: [0xFF, 0xFE], value: [0x00, 0xFF]),
                KafkaHeader(name: "dlq.reason", text: "all is well"),
            ]),
    ]

    private static func tokens(_ authority: CertificateAuthority) throws -> [HostileRecord] {
        let token = try authority.sign(purchase(1).json)
        let short = Array(repeating: #""AAAA""#, count: 1_000).joined(separator: ",")
        let header = Base64Text.url(Array(#"{"alg":"ES256","x5c":[\#(short)]}"#.utf8))
        let long = CertificateAuthority.headerSegment(certificates: Array(repeating: authority.leaf, count: 1_000))
        let rest = token.drop { $0 != UInt8(ascii: ".") }
        let deep = Array(String(repeating: "[", count: 10_000).utf8)
        return [
            .init(name: "1,000 certificates", reason: .x5cLength, value: header + rest),
            .init(name: "1,000 whole ones", reason: .payloadTooLarge, value: long + rest),
            .init(name: "four dots", reason: .jwsMalformed, value: token + Array("..".utf8)),
            .init(name: "padding", reason: .jwsMalformed, value: try authority.forge(purchase(2).json, .paddedSegment)),
            .init(
                name: "10,000 deep under a good signature", reason: .payloadMalformed, value: try authority.sign(deep)),
            .init(
                name: "a genuine one, blanks up to 1 MiB around it", reason: nil,
                value: [UInt8](repeating: 0x20, count: (1 << 20) - token.count) + token),
        ]
    }

    private static func numbers(_ authority: CertificateAuthority) throws -> [HostileRecord] {
        var odd = purchase(3)
        odd.overrides = [
            "price": "1e200000", "quantity": "9223372036854775808",
            "addedLater": "[-0.1e-999999, 99999999999999999999]", "environmentOfTomorrow": #""Mars""#,
            "offerType": "77", "transactionReason": #""WON_IN_A_LOTTERY""#,
        ]
        var wrong = purchase(4)
        wrong.overrides = ["purchaseDate": "9223372036854775808"]
        return [
            .init(
                name: "numbers beyond 2^63, members and values of tomorrow", reason: nil,
                value: try authority.sign(odd.json)),
            .init(
                name: "a purchase date beyond 2^63", reason: .payloadMalformed, value: try authority.sign(wrong.json)),
        ]
    }

    /// A purchase of its own, which no other traffic knows.
    private static func purchase(_ number: Int) -> TransactionFields {
        var fields = TransactionFields()
        fields.transactionID = String(2_900_000_000_000_000 + number)
        fields.originalTransactionID = fields.transactionID
        fields.productID = DemoProduct.lifetime.rawValue
        fields.type = DemoProduct.lifetime.type
        return fields
    }
}
