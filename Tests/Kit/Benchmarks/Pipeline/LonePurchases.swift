import AppStore
import Kafka
import Operations
import Platform
import Records
import Simulation
import Topology

/// Purchases that come one at a time, each after the outcome of the one before.
///
/// The clients wait for nothing that the servers do not need: no linger, no minimum of a fetch.
enum LonePurchases {
    /// Enough that each partition of the outcomes holds more than 4 KiB: the broker writes the first
    /// index entry of a segment then, which takes up to 70 ms on a new file system.
    private static let warmUpCount = 400
    private static let roundsCount = 1_000
    static let allRoundsCount = warmUpCount + roundsCount
    private static let answerMax = Duration.seconds(30)

    /// Lends a producer that lingers for nothing, and a consumer of these partitions.
    private static func withClients<Value>(
        _ rig: PipelineRig, reading positions: [TopicPartition: Int64],
        _ body: (KafkaProducer, KafkaConsumer) async throws -> Value
    ) async throws -> Value {
        let consumer = try KafkaConsumer(configuration: rig.kafka.merging(["group.id": "bench-latency"]) { $1 })
        let producer = try KafkaProducer(configuration: rig.kafka.merging(["linger.ms": "0"]) { $1 })
        return try await closing {
            await producer.close(deadline: answerMax)
            await consumer.close(deadline: answerMax)
        } after: {
            try await consumer.assign(with: positions)
            return try await body(producer, consumer)
        }
    }

    private static func produceAndConsume(
        _ record: ProducerRecord, _ producer: KafkaProducer, _ consumer: KafkaConsumer
    ) async throws {
        let delivery = await producer.enqueue([record])
        let end = ContinuousClock.now + answerMax
        while try await consumer.poll(recordsMax: 1, bytesMax: 1 << 20, wait: .seconds(1)).records.isEmpty {
            guard ContinuousClock.now < end else { throw BenchError("\(record.topic): nothing came of a record") }
        }
        if let failure = await delivery.report().failures.values.first {
            throw BenchError("\(record.topic): a record was not published: \(failure)")
        }
    }

    /// Publishes purchases one at a time and waits for the outcome of each.
    ///
    /// - Returns: milliseconds from publishing to reading the outcome, and to writing the record that
    ///   each stage reads, by the clients' clocks.
    static func measure(_ rig: PipelineRig, _ records: [ProducerRecord]) async throws -> (
        outcomes: Percentiles, hops: [StageDescription: Percentiles]
    ) {
        let outcomes = try await ends(of: Topic.outcomes, rig)
        return try await withClients(rig, reading: outcomes) { producer, consumer in
            var milliseconds: [Double] = []
            var starts: [StageDescription: [TopicPartition: Int64]] = [:]
            for (number, var record) in records.enumerated() {
                if number == warmUpCount {
                    for stage in Topology.stages { starts[stage] = try await ends(of: stage.inputTopic, rig) }
                }
                record.headers = [KafkaHeader(nameBytes: RecordHeader.correlationID, value: Array("\(number)".utf8))]
                let start = ContinuousClock.now
                try await produceAndConsume(record, producer, consumer)
                if number >= warmUpCount { milliseconds.append((ContinuousClock.now - start) / .milliseconds(1)) }
            }
            var hops: [StageDescription: Percentiles] = [:]
            for (stage, start) in starts where stage != .verify {
                let ends = try await ends(of: stage.inputTopic, rig)
                let ranges = start.reduce(into: [:]) { $0[$1.key] = $1.value..<ends[$1.key, default: $1.value] }
                var ages: [Double] = []
                try await TopicScan.with(rig.kafka) { try await $0.read(ranges) { ages += $0.compactMap(age) } }
                hops[stage] = Percentiles(of: ages)
            }
            return (Percentiles(of: milliseconds), hops)
        }
    }

    private static func ends(of name: String, _ rig: PipelineRig) async throws -> [TopicPartition: Int64] {
        try await KafkaAdmin.lend(rig.kafka) { admin in
            try await admin.listOffsets(rig.partitions(of: name), deadline: answerMax).mapValues(\.high)
        }
    }

    /// The age of the raw record when the record was written, in milliseconds.
    private static func age(_ record: ConsumerRecord) -> Double? {
        guard let written = record.timestampMilliseconds,
            let published = try? Observation(record).source?.timestamp?.milliseconds
        else { return nil }
        return Double(written - published)
    }
}
