import AppStore
import Records
import Synchronization
import Testing
import TestSupport

@testable import Kafka
@testable import Worker

@Suite struct OutputLimitsTests {
    private func verdict(_ outputs: (topic: String, bytes: Int)...) -> Verdict {
        Verdict(
            .forwarded,
            outputs: outputs.map { ProducerRecord(topic: $0.topic, value: Array(repeating: 7, count: $0.bytes)) })
    }

    private func limits() -> OutputLimits {
        let limits = OutputLimits(producerProperties: ["message.max.bytes": "5000"])
        limits.read([
            "small": ["max.message.bytes": TopicSetting(value: "1000", isSetOnTopic: true)],
            "large": ["max.message.bytes": TopicSetting(value: "9000", isSetOnTopic: true)],
        ])
        return limits
    }

    @Test func `each topic has its own limit, whichever was looked up before`() {
        var reader = limits().reader()
        for _ in 0..<2 {
            #expect(reader.firstForbidden(among: verdict(("small", 800)).outputs) == nil)
            #expect(reader.firstForbidden(among: verdict(("large", 4_800)).outputs) == nil)
            #expect(reader.firstForbidden(among: verdict(("unknown", 4_800)).outputs) == nil)
            #expect(reader.firstForbidden(among: verdict(("small", 1_001)).outputs) == 0)
            #expect(reader.firstForbidden(among: verdict(("large", 5_001)).outputs) == 0)
            #expect(reader.firstForbidden(among: verdict(("unknown", 5_001)).outputs) == 0)
        }
    }

    @Test func `a record with one output too large is refused for that topic`() {
        var reader = limits().reader()
        let checked = reader.checked(verdict(("large", 2_000), ("small", 2_000)))
        #expect(checked.isRefused && checked.outputs.isEmpty)
        #expect(checked.refusal?.detail.contains("topic small") == true)
        #expect(!reader.checked(verdict(("large", 2_000), ("small", 200))).isRefused)
    }

    private static func settings(_ bytes: String) -> [String: [String: TopicSetting]] {
        ["small": ["max.message.bytes": TopicSetting(value: bytes, isSetOnTopic: true)]]
    }

    @Test func `a limit is asked for again, and not for every record of a flood`() async {
        let limits = limits()
        let asked = Atomic(0)
        let version = limits.version
        limits.setSource {
            asked.add(1, ordering: .relaxed)
            return Self.settings("3000")
        }
        for _ in 0..<100 { await limits.askAgain() }
        #expect((1...50).contains(asked.load(ordering: .relaxed)))
        #expect(limits.version == version + 1)
        var reader = limits.reader()
        #expect(reader.firstForbidden(among: verdict(("small", 2_000)).outputs) == nil)
    }

    @Test func `without an answer a limit stays as it was known`() async {
        let limits = limits()
        let version = limits.version
        await limits.askAgain()
        let asked = Atomic(0)
        limits.setSource {
            asked.add(1, ordering: .relaxed)
            return nil
        }
        for _ in 0..<10 { await limits.askAgain() }
        #expect(asked.load(ordering: .relaxed) == 1)
        #expect(limits.version == version)
        var reader = limits.reader()
        #expect(reader.firstForbidden(among: verdict(("small", 2_000)).outputs) == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a record is not refused by a limit that no longer holds`() async throws {
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        func setting(_ bytes: String) -> [String: [String: TopicSetting]] {
            [rig.output: ["max.message.bytes": TopicSetting(value: bytes, isSetOnTopic: true)]]
        }
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        worker.loop.limits.read(setting("600"))
        let raised = setting("2097152")
        worker.loop.limits.setSource { raised }
        try await rig.publish([Array(repeating: 7, count: 2_000)])
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await worker.stop()
        #expect(try await rig.contents(rig.letters).isEmpty)
        #expect(try await rig.contents(rig.output).count == 2)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a limit that is too small is reported once, also if the first request for it failed`() async throws {
        // The mock cluster answers no request for the topics' configurations.
        let rig = try await LoopRig()
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        let unavailable = "topic configurations unavailable, max.message.bytes not checked"
        await eventually { rig.log.count(unavailable) == 1 }
        let answers = Atomic(0)
        let small = [rig.output: ["max.message.bytes": TopicSetting(value: "600", isSetOnTopic: true)]]
        worker.loop.limits.setSource {
            answers.add(1, ordering: .relaxed)
            return small
        }
        await eventually {
            worker.loop.limitsSignal.send()
            return answers.load(ordering: .relaxed) >= 3
        }
        try await worker.stop()
        #expect(
            rig.log.metadata(of: "max.message.bytes too small") == [
                "kafka.topic=string(\"\(rig.output)\") kafka.max_message_bytes=int(600) "
                    + "kafka.max_message_bytes_wanted=int(2097152)"
            ])
    }

    @Test func `a limit that has changed counts for the next batch`() {
        let limits = limits()
        let outputs = verdict(("small", 2_000)).outputs
        var before = limits.reader()
        #expect(before.firstForbidden(among: outputs) == 0)
        limits.read(["small": ["max.message.bytes": TopicSetting(value: "3000", isSetOnTopic: true)]])
        var after = limits.reader()
        #expect(after.firstForbidden(among: outputs) == nil)
    }
}
