import AppStore
import Entitlements
import Foundation
import JSON
import Kafka
import Records
import TestSupport
import Testing

/// The head of an observation states the facts of its payloads, and nothing else.
@Suite struct HeadTests {
    @Test(arguments: [Topic.verified, Topic.unique, Topic.linked])
    func `each example of the schemas follows from its payloads, byte for byte`(topic: String) throws {
        let url = ReferenceScript.root.appending(path: "schemas/topics/\(topic).schema.json")
        let schema = try JSONDocument(parsing: Array(Data(contentsOf: url)), policy: .grammar)
        let examples = try #require(schema.root["examples"]).elements
        for example in examples {
            let value = Self.compact(example)
            let read = try Observation(value: value)
            let remade = read.relinkedPurchase == nil ? try read.with { _ in } : read
            let record = remade.record(for: topic)
            let written = String(decoding: record.value ?? [], as: UTF8.self)
            #expect(written == String(decoding: value, as: UTF8.self))
            #expect(record.headers.isEmpty)
        }
    }

    @Test(arguments: Scenario.names) func `the facts read in each scenario are those of the payloads`(name: String)
        throws
    {
        for sent in try Scenario.load(name).observations {
            let record = sent.record(for: "verified")
            let read = try Observation(value: record.value)
            #expect(read.facts == sent.facts)
            #expect(try read.with { _ in }.facts == read.facts)
            #expect(read.record(for: "verified") == record)
        }
    }

    @Test(arguments: [1, 10, 1_000], [true, false]) func `no stage reads a payload, so its size costs nothing`(
        factor: Int, isUsual: Bool
    ) throws {
        var observation = try ObservationTests.observation()
        if isUsual {
            observation.claims.offerID = "spring"
            observation.ingestUserID = "zoe"
        }
        let sent = observation.record(for: "verified")
        let value = try #require(sent.value)
        let headBytes = try #require(value.headBytes)
        // Text that is not JSON at all, of a length that the head names.
        let payload = ObservationTests.transaction.utf8.count
        let noise = [UInt8](repeating: 0xFF, count: payload * factor)
        let head = String(decoding: value[..<headBytes], as: UTF8.self).replacing(
            "\"transaction\":\(payload)", with: "\"transaction\":\(noise.count)")
        let record = ConsumerRecord(
            "verified", at: 0, key: sent.key,
            value: Array("\(head),\"payloads\":{\"transaction\":".utf8) + noise + Array("}}".utf8))
        let read = try Observation(record)
        #expect((read.inputRange != nil) == isUsual)
        #expect(read.facts == (try ObservationTests.observation().facts))
        let owner = ObservedOwner(userID: "anna", rule: "account_token")
        for written in [
            try record.forwarded(to: "unique", read.inputRange), try record.marked(for: "unique", read.inputRange),
            try record.owned(by: owner, in: .production, for: "linked", read.inputRange),
        ] {
            let again = try Observation(value: written.value)
            #expect(again.payloads[.transaction].map { Array($0) } == noise)
        }
    }

    /// A consumer that validates by the schema refuses a member that it does not name.
    @Test func `the schema names the members that each fact declares, in their order`() throws {
        let key = ["transactionID", "signedDate", "contentHash"]
        let identity = ["originalTransactionID", "productID", "purchaseDate", "type", "quantity"]
        try Self.expect(
            TransactionMembers.self, in: "transaction", after: key + identity,
            undeclared: ["key", "track", "revision", "trust", "identity", "olderRevoking", "olderNaming"])
        try Self.expect(
            RenewalFact.self, in: "renewalInfo", after: ["originalTransactionID", "signedDate", "contentHash"],
            undeclared: ["key", "revision", "olderNaming"])
    }

    /// Expects the schema to name the first members and the declared ones, and every property to be
    /// declared but those that the head has in another form.
    private static func expect<Fact: FactMembers>(
        _: Fact.Type, in object: String, after first: [String], undeclared: Set<String>
    ) throws {
        var blank = Fact.blank
        var declared = MemberNames()
        blank.visitMembers(&declared)
        let url = ReferenceScript.root.appending(path: "schemas/topics/verified.schema.json")
        let schema = try JSONDocument(parsing: Array(Data(contentsOf: url)), policy: .grammar)
        let facts = try #require(schema.root["$defs"]?["facts"]?["properties"])
        let properties = try #require(facts[object]?["properties"])
        #expect(properties.members.map { $0.key.string } == first + declared.names)
        let stored = Mirror(reflecting: blank).children.compactMap(\.label)
        #expect(stored.filter { !undeclared.contains($0) } == declared.names)
    }

    /// The JSON without spaces and line breaks.
    private static func compact(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        write(value, to: &writer)
        return writer.bytes
    }

    private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
        switch value.kind {
        case .object:
            writer.object { writer in
                for (key, member) in value.members {
                    writer.key(key.string ?? "")
                    write(member, to: &writer)
                }
            }
        case .array: writer.array { writer in for element in value.elements { write(element, to: &writer) } }
        case .string, .number, .bool, .null: writer.raw(value.rawBytes)
        }
    }
}

private struct MemberNames: FactMemberVisitor {
    private(set) var names: [String] = []

    mutating func visit<Value>(_ name: StaticString, _ value: inout Value) { names.append("\(name)") }
}

extension [UInt8] {
    /// The bytes of an observation before the comma that leads to its payloads.
    var headBytes: Int? { indices.last { self[$0...].starts(with: #","payloads":{"#.utf8) } }
}
