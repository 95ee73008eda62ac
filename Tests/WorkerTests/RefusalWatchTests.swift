import AppStore
import Kafka
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Worker

/// Attacks are counted by their source, and what looks alike and grows is reported.
@Suite struct RefusalWatchTests {
    private static func group(_ number: Int, _ reason: RefusalReason = .rootUntrusted)
        -> RefusalGroups.Group
    {
        RefusalGroups.Group(
            reason: reason,
            certificate: nil,
            bundleID: "com.example.\(number)",
            topic: "storekit.raw",
            producer: nil
        )
    }

    @Test func `a group is reported at a hundred and at each ten times as many`() {
        var groups = RefusalGroups()
        let now = ContinuousClock.now
        let reported = (1...1_000).compactMap { _ in groups.count(Self.group(1), now: now)?.count }
        #expect(reported == [100, 1_000])
        #expect(groups.largest(now: now) == [.rootUntrusted: 1_000])
    }

    @Test func `a group that stays as large as it was is not reported again`() {
        var groups = RefusalGroups()
        let start = ContinuousClock.now
        for _ in 1...150 { _ = groups.count(Self.group(1), now: start) }
        let later = start + .seconds(61)
        let reported = (1...150).compactMap { _ in groups.count(Self.group(1), now: later) }
        #expect(reported.isEmpty)
        #expect(groups.largest(now: later) == [.rootUntrusted: 150])
        #expect(groups.largest(now: later + .seconds(200)).isEmpty)
    }

    @Test func `any number of groups takes a bounded place`() {
        var groups = RefusalGroups()
        let now = ContinuousClock.now
        for number in 0..<20_000 {
            #expect(groups.count(Self.group(number), now: now) == nil)
        }
        #expect(groups.largest(now: now) == [.rootUntrusted: 1])
    }

    private static func record(_ producer: String?) -> ConsumerRecord {
        ConsumerRecord(
            "storekit.raw",
            at: 0,
            headers: producer.map { [KafkaHeader(name: "producer", text: $0)] } ?? []
        )
    }

    @Test func `signs of an attack are counted by source, of which there are few`() {
        let registry = MetricsRegistry()
        let log = RecordingLogHandler(level: .info)
        let watch = RefusalWatch(registry, Log(log))
        for number in 0..<80 {
            watch.count(
                Refusal(reason: .signatureInvalid, detail: ""),
                of: Self.record("gateway-\(number)")
            )
        }
        watch.count(Refusal(reason: .rootUntrusted, detail: ""), of: Self.record(nil))
        watch.count(Refusal(reason: .bodyUnrecognized, detail: ""), of: Self.record("gateway-1"))
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        let name = "entitlements_attack_sign_dead_letters_total"
        #expect(text.contains("\(name){sign=\"forged_signature\",source=\"gateway-7\"} 1"))
        #expect(text.contains("\(name){sign=\"forged_signature\",source=\"other\"} 30"))
        #expect(text.contains("\(name){sign=\"foreign_chain\",source=\"unnamed\"} 1"))
        #expect(
            text.contains("entitlements_dead_letter_group_records{reason=\"body_unrecognized\"} 1")
        )
    }

    @Test func `a hostile name reaches log and metrics as one printable line`() {
        let registry = MetricsRegistry()
        let log = RecordingLogHandler(level: .info)
        let watch = RefusalWatch(registry, Log(log))
        let name = "a\u{1B}[2J\n" + String(repeating: "x", count: 100_000)
        for _ in 0..<100 {
            watch.count(Refusal(reason: .signatureInvalid, detail: ""), of: Self.record(name))
        }
        #expect(log.count("similar dead letters increase within a minute") == 1)
        let text = String(decoding: registry.exposition(), as: UTF8.self)
        #expect(!text.contains("\u{1B}"))
        #expect(text.utf8.count < 20_000)
    }
}
