import AppStore
import JSON
import Kafka
import OpenSSL
import Records
import Testing
import TestSupport

/// What no stage has written is a fault of the record: said in our own words, never a crash.
@Suite struct MalformedObservationTests {
    private static let written = Result {
        try ObservationTests.observation(
            renewalInfo: ObservationTests.renewalInfo,
            receipt: ObservationTests.receipt
        ).record(for: "verified")
    }

    private static func head(_ text: String) -> KafkaHeader {
        KafkaHeader(name: "head", text: text)
    }

    /// A head alone, with no payloads behind it.
    private static func value(_ head: String) -> ([UInt8], [KafkaHeader]) {
        (Array("\(head),\"payloads\":{}}".utf8), [self.head("\(head.utf8.count)")])
    }

    @Test(arguments: [
        ("[", ObservationError.notJSON(JSONError(code: .unexpectedByte, offset: 1))),
        ("{", .member("schemaVersion")),
        (#"{"schemaVersion":2"#, .schemaVersion(2)),
        (#"{"schemaVersion":1"#, .member("source")),
        (#"{"schemaVersion":1,"source":{"partition":0}"#, .member("source.topic")),
        (
            #"{"schemaVersion":1,"source":{"topic":"r","partition":3000000000}"#,
            .member("source.partition")
        ),
        (
            #"{"schemaVersion":1,"schemaVersion":1"#,
            .notJSON(JSONError(code: .duplicateKey, offset: 19))
        ),
    ])
    func `a malformed head is refused with the member's name`(
        head: String,
        expected: ObservationError
    ) {
        let (value, headers) = Self.value(head)
        #expect(throws: expected) { try Observation(value: value, headers: headers) }
    }

    @Test func `no value is refused, empty or null`() {
        #expect(throws: ObservationError.noValue) { try Observation(value: nil, headers: []) }
        #expect(throws: ObservationError.noValue) {
            try Observation(value: [], headers: [Self.head("0")])
        }
    }

    @Test func `a header that says no length is refused`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        let good = try #require(record.headers.first { $0.name == "head" })
        let headers: [[KafkaHeader]] = [
            [], [good, good], [KafkaHeader(name: "head", value: nil)], [Self.head("")],
            [Self.head("-1")], [Self.head("+1")], [Self.head("1.0")], [Self.head("0x10")],
            [Self.head(" 12")], [Self.head("\(value.count)")], [Self.head("999999999")],
            [Self.head("99999999999999999999999999")], [Self.head(String(Int.max))],
            [Self.head("twelve")], [KafkaHeader(name: "head", value: [0xFF, 0x00])],
        ]
        for headers in headers {
            #expect(throws: ObservationError.headLength) {
                try Observation(value: value, headers: headers)
            }
        }
    }

    @Test func `no other length reads the record, wherever it points`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        let good = try #require(record.headers.first { $0.name == "head" })
        for length in 0..<value.count {
            let header = Self.head("\(length)")
            guard header != good else { continue }
            #expect(throws: ObservationError.self) {
                try Observation(value: value, headers: [header])
            }
        }
    }

    @Test func `every truncation is refused, and everything that follows`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        for length in 0..<value.count {
            #expect(throws: ObservationError.self) {
                try Observation(value: Array(value[..<length]), headers: record.headers)
            }
        }
        #expect(throws: ObservationError.payloads) {
            try Observation(value: value + [0x20], headers: record.headers)
        }
    }

    /// The head's text with something else in it, and its length.
    private static func changed(
        _ change: (inout String) -> Void
    ) throws -> ([UInt8], [KafkaHeader]) {
        let record = try written.get()
        let value = try #require(record.value)
        let text = try #require(record.headers.first { $0.name == "head" }?.value)
        let length = try #require(Int(String(decoding: text, as: UTF8.self)))
        var head = String(decoding: value[..<length], as: UTF8.self)
        let before = head
        change(&head)
        #expect(head != before, "nothing was changed")
        return (Array(head.utf8) + value[length...], [self.head("\(head.utf8.count)")])
    }

    @Test(arguments: [
        (#""transaction":147"#, #""transaction":146"#),
        (#""transaction":147"#, #""transaction":148"#),
        (#""transaction":147"#, #""transaction":9223372036854775807"#),
        (#""payloadBytes":{"#, #""payloadBytes":{"appTransaction":1,"#),
    ])
    func `lengths that do not add up are refused`(former: String, other: String) throws {
        let count = ObservationTests.transaction.utf8.count
        let (value, headers) = try Self.changed { head in
            head = head.replacing(
                former.replacing("147", with: "\(count)"),
                with: other.replacing("146", with: "\(count - 1)")
                    .replacing("148", with: "\(count + 1)")
            )
        }
        #expect(throws: ObservationError.payloads) {
            try Observation(value: value, headers: headers)
        }
    }

    @Test(arguments: [
        (
            #""transaction":{"transactionID":"7","#, #""transaction":{"#,
            "facts.transaction.transactionID"
        ),
        (#""transactionID":"7""#, #""transactionID":"""#, "facts.transaction.transactionID"),
        (
            #""purchaseDate":10"#, #""purchaseDate":9223372036854775807"#,
            "facts.transaction.purchaseDate"
        ),
        (#""signedDate":4,"leaf""#, #""signedDate":"4","leaf""#, "verification.signedDate"),
        (#""index":1"#, #""index":99999999999999999999"#, "source.index"),
        (#""index":1"#, #""index":9223372036854775807"#, "source.index"),
        (#""count":2"#, #""count":0"#, "source.count"),
        (#""offset":1099511627776"#, #""offset":-1"#, "source.offset"),
        (
            #""expirationIntent":2"#, #""expirationIntent":2.5"#,
            "facts.renewalInfo.expirationIntent"
        ),
        (
            #""appAccountToken":"7e3f"#, #""appAccountToken":"xe3f"#,
            "facts.renewalInfo.appAccountToken"
        ),
        (#""bundleID":"com.example""#, #""bundleID":null"#, "bundleID"),
        (#""method":"jws""#, #""method":"rumour""#, "verification.method"),
        (#""ingestUserID":"zo"#, #""ingestUserID":"","x":"zo"#, "ingestUserID"),
    ])
    func `a member that no stage writes is refused by its name`(
        former: String,
        other: String,
        path: String
    ) throws {
        let (value, headers) = try Self.changed { $0 = $0.replacing(former, with: other) }
        #expect(throws: ObservationError.member(path)) {
            try Observation(value: value, headers: headers)
        }
    }

    @Test func `of a newer version nothing is read but the version`() throws {
        let (value, headers) = try Self.changed { head in
            head = head.replacing(#""schemaVersion":1"#, with: #""schemaVersion":2"#)
                .replacing(#""facts""#, with: #""findings""#)
        }
        let error = #expect(throws: ObservationError.self) {
            try Observation(value: value, headers: headers)
        }
        #expect(error?.newerVersion == 2)
    }

    @Test func `of a changed byte the head is refused or read, and nothing crashes`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        for index in value.indices {
            for byte in [UInt8(ascii: "0"), UInt8(ascii: "9"), UInt8(ascii: "\""), 0x7B, 0xFF] {
                var changed = value
                changed[index] = byte
                _ = try? Observation(value: changed, headers: record.headers)
            }
        }
    }
}
