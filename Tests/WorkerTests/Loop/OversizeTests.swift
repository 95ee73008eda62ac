import Kafka
import Testing
import TestSupport
import Worker

@Suite(.timeLimit(.minutes(10)))
struct OversizeTests {
    @Test(.needsRealKafka)
    func `an output beyond its topic's limit dead-letters the record, the others go on`()
        async throws
    {
        let rig = try await LoopRig(.real, outputConfiguration: ["max.message.bytes": "2000"])
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
            configuration.producerProperties["compression.type"] = "none"
        }
        worker.start()
        try await rig.publish([[1], Array(repeating: 7, count: 3_000), [2]])
        try await eventually(within: .seconds(30)) { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        #expect(letters.map(\.value) == [Array(repeating: 7, count: 3_000)])
        #expect(letters.first?.headers.first?.value == Array("payload_too_large".utf8))
        #expect(try await Set(rig.contents(rig.output).map(\.value)) == [[1], [2]])
        let expected = StageTally(
            began: 0,
            counts: [.forwarded: 2, .deadLettered: 1],
            forwarded: 2
        )
        #expect(try await rig.tally() == expected)
    }

    @Test func `a dead letter that is too large is written without its value`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
            configuration.producerProperties["message.max.bytes"] = "2000"
        }
        worker.start()
        try await rig.publish([[1], Array(repeating: 7, count: 3_000)])
        try await eventually(within: .seconds(30)) { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        #expect(letters.count == 1)
        #expect(letters.first?.value == nil)
        let headers = letters.first?.headers ?? []
        #expect(headers.contains(KafkaHeader(name: "dlq.value", text: "omitted")))
        #expect(headers.contains(KafkaHeader(name: "dlq.source.offset", text: "1")))
    }
}
