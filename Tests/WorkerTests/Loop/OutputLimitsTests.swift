import AppStore
import Kafka
import Records
import Testing

@testable import Worker

@Suite struct OutputLimitsTests {
    private func verdict(_ outputs: (topic: String, bytes: Int)...) -> Verdict {
        Verdict(
            .forwarded,
            outputs: outputs.map {
                ProducerRecord(topic: $0.topic, value: Array(repeating: 7, count: $0.bytes))
            }
        )
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

    @Test func `a limit that has changed counts for the next batch`() {
        let limits = limits()
        let outputs = verdict(("small", 2_000)).outputs
        var before = limits.reader()
        #expect(before.firstForbidden(among: outputs) == 0)
        limits.read([
            "small": ["max.message.bytes": TopicSetting(value: "3000", isSetOnTopic: true)]
        ])
        var after = limits.reader()
        #expect(after.firstForbidden(among: outputs) == nil)
    }
}
