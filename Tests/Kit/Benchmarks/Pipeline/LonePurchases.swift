import Kafka
import Operations
import Platform
import Records
import Simulation

/// Purchases that come one at a time, each after the outcome of the one before.
///
/// The clients wait for nothing that the servers do not need: no linger, no minimum of a fetch.
enum LonePurchases {
    private static let warmUpCount = 20
    private static let roundsCount = 300
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
    /// - Returns: from publishing to reading the outcome, in milliseconds, sorted.
    static func measure(_ rig: PipelineRig, _ records: [ProducerRecord]) async throws -> [Double] {
        let topic = rig.layout.prefix + Topic.outcomes
        let ends = try await KafkaAdmin.lend(rig.kafka) { admin in
            guard let found = try await admin.metadata(deadline: answerMax)[topic: topic] else {
                throw BenchError("there is no topic \(topic)")
            }
            return try await admin.listOffsets(found.partitions, deadline: answerMax)
        }
        return try await withClients(rig, reading: ends.mapValues(\.high)) { producer, consumer in
            var milliseconds: [Double] = []
            for (number, var record) in records.enumerated() {
                record.headers = [KafkaHeader(nameBytes: RecordHeader.correlationID, value: Array("\(number)".utf8))]
                let start = ContinuousClock.now
                try await produceAndConsume(record, producer, consumer)
                if number >= warmUpCount { milliseconds.append((ContinuousClock.now - start) / .milliseconds(1)) }
            }
            return milliseconds.sorted()
        }
    }
}
