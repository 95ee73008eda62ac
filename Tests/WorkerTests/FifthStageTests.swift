import AppStore
import Foundation
import Kafka
import KitWrappers
import Records
import Settings
import Synchronization
import Telemetry
import TestSupport
import Testing
import Worker

/// A stage from outside: what it brings is all that a worker has to know of it.
@Suite(.timeLimit(.minutes(10))) struct FifthStageTests {
    /// Writes orders on to one topic and returns to another, and refuses what is neither.
    private struct SortingStage: Stage {
        let orders: String
        let returns: String
        let wordBytesMax: Int
        let long: MetricFamily<Counter>
        let upkeep: (any Upkeep)?

        func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
            records.map { record in
                let text = String(decoding: record.value ?? [], as: UTF8.self)
                if text.utf8.count > wordBytesMax { long.increment() }
                switch text.prefix(while: { $0 != " " }) {
                case "order": return Verdict(.ordered, outputs: [output(record, orders)])
                case "return": return Verdict(.returned, outputs: [output(record, returns)])
                default: return .deadLettered(Refusal(reason: .bodyUnrecognized, detail: "neither"))
                }
            }
        }

        private func output(_ record: ConsumerRecord, _ topic: String) -> ProducerRecord {
            ProducerRecord(topic: topic, key: record.key, value: record.value)
        }
    }

    /// A service of the stage's own, beside its records.
    private final class Sweep: Upkeep {
        private let count = Atomic(0)

        var sweeps: Int { count.load(ordering: .acquiring) }

        func waitForWork() async throws { await Task.yield() }

        func work() async throws { count.add(1, ordering: .acquiringAndReleasing) }

        func close() async {}
    }

    private static let wordBytesMax = Setting(
        "sorting.word_bytes_max", .int(1...100), default: 100, "Longer texts are counted.")

    private static func program(_ sweep: Sweep) -> WorkerProgram {
        WorkerProgram(
            .sorting, summary: "Sorts orders from returns.", declarations: [wordBytesMax.declaration],
            dependency: HealthCondition("scales"),
            make: { parts in
                SortingStage(
                    orders: parts.settings.topic("orders"), returns: parts.settings.topic("returns"),
                    wordBytesMax: parts.settings[wordBytesMax],
                    long: parts.metrics.counter("sorting_long_texts", "Long texts."), upkeep: sweep)
            })
    }

    @Test func `it brings its topics, dispositions, settings, metrics and services`() async throws {
        let rig = try await LoopRig()
        let prefix = rig.cluster.name("fifth") + "."
        for topic in ["parcels", "orders", "returns", "outcomes", "dead-letter"] {
            try rig.cluster.mock?.createTopic(prefix + topic, partitions: 1)
        }
        let sweep = Sweep()
        let program = Self.program(sweep)
        let source = SettingsSource(
            schema: program.schema,
            environment: [
                "KAFKA_BOOTSTRAP": rig.cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": prefix, "HTTP_PORT": "0",
                "SORTING_WORD_BYTES_MAX": "8",
            ], filePath: nil)
        let service = try WorkerService(program, source.read(), from: source, log: rig.log)
        let running = Task { try await service.run() }
        let texts = ["order 1", "return 1", "order 22", "neither", "order 333"]
        let report = await rig.producer.send(
            texts.map { ProducerRecord(topic: prefix + "parcels", value: Array($0.utf8)) })
        try #require(report.isComplete)

        try await eventually { try await Self.metadata(rig, prefix)?.tally.total == 5 }
        let metadata = try await Self.metadata(rig, prefix)
        #expect(
            metadata?.tally
                == StageTally(began: 0, counts: [.ordered: 3, .returned: 1, .deadLettered: 1], forwarded: 3))
        #expect(try await rig.contents(prefix + "orders").count == 3)
        #expect(try await rig.contents(prefix + "returns").count == 1)
        let letter = try #require(try await rig.contents(prefix + "dead-letter").first)
        let stage = letter.headers.first { $0.name == "dlq.stage" }?.value
        #expect(stage == Array("sorting".utf8))
        #expect(service.health.conditions.map(\.name) == ["assigned", "broker", "scales"])
        await eventually { service.health.isReady && sweep.sweeps > 0 }
        let text = String(decoding: service.metrics.exposition(), as: UTF8.self)
        for sample in [
            #"entitlements_records_total{stage="sorting",disposition="ordered"} 3"#,
            #"entitlements_records_total{stage="sorting",disposition="returned"} 1"#,
            #"entitlements_sorting_long_texts_total{stage="sorting"} 1"#,
        ] { #expect(text.contains(sample), "\(text)") }
        service.stop()
        try await running.value
    }

    private static func metadata(_ rig: LoopRig, _ prefix: String) async throws -> CommitMetadata? {
        let partition = TopicPartition(topic: prefix + "parcels", partition: 0)
        let admin = try KafkaAdmin(configuration: rig.cluster.client)
        let committed = try await admin.committedOffsets(
            group: "entitlements.sorting", [partition], deadline: .seconds(10))
        await admin.close()
        return committed[partition].flatMap {
            CommitMetadata($0.metadata, counting: StageDescription.sorting.dispositions)
        }
    }
}

extension StageDescription {
    fileprivate static let sorting = StageDescription(
        name: "sorting", inputTopic: "parcels", readsObservations: false, outputTopic: "orders",
        otherTopics: ["returns"], dispositions: [.ordered, .returned])
}

extension Disposition {
    fileprivate static let ordered = Disposition("ordered", "ask for something")
    fileprivate static let returned = Disposition("returned", "bring something back")
}
