import AppStore
import JSON
import Kafka
import Records
import Testing
import TestSupport
import Worker

/// The answer of a stage that ends a record, for the request that waits for it.
@Suite(.timeLimit(.minutes(10))) struct LoopOutcomeTests {
    private static let waiting = [
        KafkaHeader(name: "correlation-id", text: "request-1"), KafkaHeader(name: "other", text: "stays"),
        KafkaHeader(name: "traceparent", text: "trace"),
    ]

    private static func outcomes(
        headers: [KafkaHeader] = waiting, of verdict: @escaping @Sendable (ConsumerRecord) -> Verdict
    ) async throws -> [ConsumerRecord] {
        let rig = try await LoopRig()
        let topic = try await rig.cluster.topic("outcomes")
        let worker = try rig.worker(FakeStage(verdict)) { $0.outcomesTopic = topic }
        worker.start()
        let record = ProducerRecord(topic: rig.raw, partition: 0, key: [], value: [1], headers: headers)
        try #require(await rig.producer.send([record]).isComplete)
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await worker.stop()
        return try await rig.contents(topic)
    }

    @Test func `a refused body has one outcome, with the reason`() async throws {
        let records = try await Self.outcomes { _ in .deadLettered(Refusal(reason: .signatureInvalid, detail: "test")) }
        let record = try #require(records.first)
        #expect(records.count == 1)
        #expect(record.key == Array("request-1".utf8))
        #expect(record.headers.map(\.name) == ["correlation-id", "traceparent"])
        let value = try JSONDocument(parsing: record.value ?? []).root
        #expect(value["status"]?.string == "dead_lettered")
        #expect(value["reason"]?.string == "signature_invalid")
        #expect(value["index"]?.int64 == 0)
        #expect(value["count"]?.int64 == 1)
        #expect(value["source"]?["offset"]?.int64 == 0)
        let verdict = try PublishedSchema.topics.validate([record.value ?? []], against: "outcomes")
        #expect(verdict.isValid, "\(verdict.report)")
    }

    @Test func `a body without items is answered as ignored`() async throws {
        let records = try await Self.outcomes { _ in Verdict(.ignored, outcome: Outcome(.ignored)) }
        let value = try JSONDocument(parsing: records.first?.value ?? []).root
        #expect(value["status"]?.string == "ignored")
    }

    @Test func `what goes on, and what nobody waits for, is not answered`() async throws {
        #expect(try await Self.outcomes { _ in Verdict(.forwarded) }.isEmpty)
        #expect(try await Self.outcomes(headers: []) { _ in Verdict(.ignored, outcome: Outcome(.ignored)) }.isEmpty)
    }
}
