import Kafka
import KitWrappers
import Records
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct OversizeTests {
    @Test(.needsRealKafka) func `an output beyond its topic's limit dead-letters the record, the others go on`()
        async throws
    {
        let rig = try await LoopRig(.real, outputConfiguration: ["max.message.bytes": "2000"])
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
            configuration.producerProperties["compression.type"] = "none"
        }
        worker.start()
        try await rig.publish([[1], Array(repeating: 7, count: 3_000), [2]])
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        #expect(letters.map(\.value) == [Array(repeating: 7, count: 3_000)])
        #expect(letters.first?.headers.first?.value == Array("payload_too_large".utf8))
        #expect(try await Set(rig.contents(rig.output).map(\.value)) == [[1], [2]])
        let expected = StageTally(began: 0, counts: [.forwarded: 2, .deadLettered: 1], forwarded: 2)
        #expect(try await rig.tally() == expected)
    }

    @Test func `a dead letter that is too large is written without its value`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
            configuration.producerProperties["message.max.bytes"] = "2000"
        }
        worker.start()
        try await rig.publish([[1], Array(repeating: 7, count: 3_000)])
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        #expect(letters.count == 1)
        #expect(letters.first?.value == nil)
        let headers = letters.first?.headers ?? []
        #expect(headers.contains(KafkaHeader(name: "dlq.value", text: "omitted")))
        #expect(headers.contains(KafkaHeader(name: "dlq.source.offset", text: "1")))
    }

    /// Writes the record's bytes, each a record of its own of so many times a hundred bytes.
    private static func fanningOut(to topic: String) -> FakeStage {
        FakeStage { record in
            let outputs = (record.value ?? []).map { hundreds in
                ProducerRecord(topic: topic, value: Array(repeating: hundreds, count: Int(hundreds) * 100))
            }
            return Verdict(.forwarded, outputs: outputs)
        }
    }

    @Test(.needsRealKafka) func `of a record of which one output is beyond its topic's limit nothing goes on`()
        async throws
    {
        let rig = try await LoopRig(.real, outputConfiguration: ["max.message.bytes": "2000"])
        let worker = try rig.worker(Self.fanningOut(to: rig.output)) { configuration in
            configuration.producerProperties["compression.type"] = "none"
        }
        worker.start()
        try await rig.publish([[1, 2, 3, 30, 4], [5, 6], [40, 7, 41, 8]])
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        // The broker has reported its limit by now, or has refused a record: both end alike.
        try await rig.publish([[9, 30, 10], [11]])
        try await eventually { try await rig.committed()[0]?.offset == 5 }
        try await worker.stop()
        let sizes = try await rig.contents(rig.output).map { $0.value?.count ?? 0 }
        #expect(sizes.sorted() == [500, 600, 1_100])
        let letters = try await rig.contents(rig.letters)
        #expect(letters.map(\.value) == [[1, 2, 3, 30, 4], [40, 7, 41, 8], [9, 30, 10]])
        #expect(try await rig.tally() == StageTally(began: 0, counts: [.forwarded: 2, .deadLettered: 3], forwarded: 3))
    }

    @Test func `where a topic's limit is unknown, a record's largest output is tried first`() async throws {
        let rig = try await LoopRig(.mock)
        let worker = try rig.worker(Self.fanningOut(to: rig.output))
        try await rig.publish([[1, 2, 30, 4]])
        try rig.cluster.mock?.fail(.produce, with: [.messageTooLarge])
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        try await worker.stop()
        #expect(try await rig.contents(rig.output).isEmpty)
        #expect(try await rig.contents(rig.letters).map(\.value) == [[1, 2, 30, 4]])
    }
}
