import AppStore
import Kafka
import OpenSSL
import Records
import Testing
import TestSupport

@testable import JSON

/// A value that no stage has written is a fault of the record: a described error, never a crash.
@Suite struct MalformedObservationTests {
    private static var observation: Observation {
        get throws {
            try ObservationTests.observation(
                renewalInfo: ObservationTests.renewalInfo, receipt: ObservationTests.receipt)
        }
    }
    private static let written = Result { try observation.record(for: "verified") }

    /// A head alone, with no payloads behind it.
    private static func value(_ head: String) -> [UInt8] { Array("\(head),\"payloads\":{}}".utf8) }

    @Test(arguments: [
        ("[", ObservationError.notJSON(JSONError(code: .unexpectedByte, offset: 1))),
        ("{", .notJSON(JSONError(code: .unexpectedByte, offset: 1))), (#"{"a":1"#, .member("schemaVersion")),
        (#"{"schemaVersion":2"#, .schemaVersion(2)), (#"{"schemaVersion":1"#, .member("source")),
        (#"{"schemaVersion":1,"source":{"partition":0}"#, .member("source.topic")),
        (#"{"schemaVersion":1,"source":{"topic":"r","partition":3000000000}"#, .member("source.partition")),
        (#"{"schemaVersion":1,"schemaVersion":1"#, .notJSON(JSONError(code: .duplicateKey, offset: 19))),
    ]) func `a malformed head is refused with the member's name`(head: String, expected: ObservationError) {
        #expect(throws: expected) { try Observation(value: Self.value(head)) }
    }

    @Test func `an empty or null value is refused`() {
        #expect(throws: ObservationError.noValue) { try Observation(value: nil) }
        #expect(throws: ObservationError.noValue) { try Observation(value: []) }
    }

    @Test(arguments: [
        #","payloads" :{"#, #", "payloads":{"#, #","payload":{"#, #","Payloads":{"#, #","payloads":["#,
        #"}"payloads":{"#, #",,"payloads":{"#, #","payloads":{},"payloads":{"#, #","later":1,"payload":{"#,
    ]) func `payloads in a form that no stage writes are not found`(opening: String) throws {
        let value = try #require(Self.written.get().value)
        let text = String(decoding: value, as: UTF8.self)
        let changed = text.replacing(#","payloads":{"#, with: opening)
        #expect(changed != text)
        #expect(throws: ObservationError.self) { try Observation(value: Array(changed.utf8)) }
    }

    @Test func `a head that looks like the payloads' beginning is read to its own end`() throws {
        var sent = try Self.observation
        sent.ingestUserID = #"zo","payloads":{"transaction":{"#
        let read = try Observation(value: sent.record(for: "verified").value)
        #expect(read.ingestUserID == sent.ingestUserID)
        #expect(read.record(for: "verified") == sent.record(for: "verified"))
    }

    @Test func `every truncation is refused, and everything that follows`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        for length in 0..<value.count {
            #expect(throws: ObservationError.self) { try Observation(value: Array(value[..<length])) }
        }
        #expect(throws: ObservationError.payloads) { try Observation(value: value + [0x20]) }
    }

    /// The value with something else in its head.
    private static func changed(_ change: (inout String) -> Void) throws -> [UInt8] {
        let value = try #require(written.get().value)
        let length = try #require(value.headBytes)
        var head = String(decoding: value[..<length], as: UTF8.self)
        let before = head
        change(&head)
        #expect(head != before, "nothing was changed")
        return Array(head.utf8) + value[length...]
    }

    @Test(arguments: [
        (#""transaction":147"#, #""transaction":146"#), (#""transaction":147"#, #""transaction":148"#),
        (#""transaction":147"#, #""transaction":9223372036854775807"#),
        (#""payloadBytes":{"#, #""payloadBytes":{"appTransaction":1,"#),
    ]) func `lengths that do not add up are refused`(former: String, other: String) throws {
        let count = ObservationTests.transaction.utf8.count
        let value = try Self.changed { head in
            head = head.replacing(
                former.replacing("147", with: "\(count)"),
                with: other.replacing("146", with: "\(count - 1)").replacing("148", with: "\(count + 1)"))
        }
        #expect(throws: ObservationError.payloads) { try Observation(value: value) }
    }

    @Test(arguments: [
        (#""transaction":{"transactionID":"7","#, #""transaction":{"#, "facts.transaction.transactionID"),
        (#""transactionID":"7""#, #""transactionID":"""#, "facts.transaction.transactionID"),
        (#""purchaseDate":10"#, #""purchaseDate":9223372036854775807"#, "facts.transaction.purchaseDate"),
        (#""signedDate":4,"leaf""#, #""signedDate":"4","leaf""#, "verification.signedDate"),
        (#""index":1"#, #""index":99999999999999999999"#, "source.index"),
        (#""index":1"#, #""index":9223372036854775807"#, "source.index"),
        (#""count":2"#, #""count":0"#, "source.count"), (#""offset":1099511627776"#, #""offset":-1"#, "source.offset"),
        (#""offset":1099511627776"#, #""offset":9223372036854775807"#, "source.offset"),
        (#""expirationIntent":2"#, #""expirationIntent":2.5"#, "facts.renewalInfo.expirationIntent"),
        (#""appAccountToken":"7e3f"#, #""appAccountToken":"xe3f"#, "facts.renewalInfo.appAccountToken"),
        (#""bundleID":"com.example""#, #""bundleID":null"#, "bundleID"),
        (#""method":"jws""#, #""method":"rumour""#, "verification.method"),
        (#""ingestUserID":"zo"#, #""ingestUserID":"","x":"zo"#, "ingestUserID"),
    ]) func `a member that no stage writes is refused by its name`(former: String, other: String, path: String) throws {
        let value = try Self.changed { $0 = $0.replacing(former, with: other) }
        #expect(throws: ObservationError.member(path)) { try Observation(value: value) }
    }

    @Test func `only the version is read of a newer observation`() throws {
        let value = try Self.changed { head in
            head = head.replacing(#""schemaVersion":1"#, with: #""schemaVersion":2"#).replacing(
                #""facts""#, with: #""findings""#)
        }
        let error = #expect(throws: ObservationError.self) { try Observation(value: value) }
        #expect(error?.newerVersion == 2)
    }

    @Test func `a head with a changed byte is refused or read, and nothing crashes`() throws {
        let record = try Self.written.get()
        let value = try #require(record.value)
        for index in value.indices {
            for byte in [UInt8(ascii: "0"), UInt8(ascii: "9"), UInt8(ascii: "\""), 0x7B, 0xFF] {
                var changed = value
                changed[index] = byte
                _ = try? Observation(value: changed)
            }
        }
    }
}
