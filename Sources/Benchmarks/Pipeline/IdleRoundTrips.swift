import Kafka
import Operations
import Postgres
import Simulation

/// The least time that a record needs on this Kafka and this PostgreSQL: four records produced,
/// acknowledged and consumed, and three commits, one after the other on idle servers.
///
/// The clients wait for nothing that the servers do not need: no linger, no minimum of a fetch.
enum IdleRoundTrips {
    private static let producesCount = 4
    private static let commitsCount = 3
    private static let warmUpCount = 20
    private static let roundsCount = 100
    private static let answerMax = Duration.seconds(30)

    /// The median of the rounds' sums, in milliseconds.
    static func measure(_ rig: PipelineRig) async throws -> Double {
        let topic = rig.layout.prefix + "idle"
        let value = try rig.authority.sign(BenchTransaction.payload(0))
        let record = ProducerRecord(topic: topic, key: nil, value: value, headers: [])
        try await KafkaAdmin.lend(rig.kafka) { admin in
            let new = NewTopic(name: topic, partitions: 1, replication: 1, configuration: [:])
            let failures = try await admin.createTopics([new], deadline: answerMax)
            if let failure = failures[topic] {
                throw BenchError("\(topic) was not created: \(failure)")
            }
        }
        let consumer = try KafkaConsumer(
            configuration: rig.kafka.merging([
                "group.id": topic, "fetch.min.bytes": "1", "fetch.wait.max.ms": "500",
            ]) { $1 }
        )
        let producer = try KafkaProducer(
            configuration: rig.kafka.merging(["linger.ms": "0"]) { $1 }
        )
        let result: Result<Double, any Error>
        do {
            try await consumer.assign(with: [TopicPartition(topic: topic, partition: 0): 0])
            result = .success(
                try await PostgresConnection.lend(rig.database) { connection in
                    try await measure(record, producer, consumer, connection)
                }
            )
        } catch {
            result = .failure(error)
        }
        await producer.close(deadline: answerMax)
        await consumer.close(deadline: answerMax)
        try await KafkaAdmin.lend(rig.kafka) { admin in
            _ = try await admin.deleteTopics([topic], deadline: answerMax)
        }
        return try result.get()
    }

    private static func measure(
        _ record: ProducerRecord,
        _ producer: KafkaProducer,
        _ consumer: KafkaConsumer,
        _ connection: PostgresConnection
    ) async throws -> Double {
        try await StoredFacts.prepareCommits(on: connection)
        var sums: [Double] = []
        for round in 0..<(warmUpCount + roundsCount) {
            let start = ContinuousClock.now
            for _ in 0..<producesCount {
                try await produceAndConsume(record, producer, consumer)
            }
            for _ in 0..<commitsCount {
                try await StoredFacts.commitOne(on: connection)
            }
            if round >= warmUpCount {
                sums.append((ContinuousClock.now - start) / .milliseconds(1))
            }
        }
        return sums.sorted()[roundsCount / 2]
    }

    private static func produceAndConsume(
        _ record: ProducerRecord,
        _ producer: KafkaProducer,
        _ consumer: KafkaConsumer
    ) async throws {
        let delivery = await producer.enqueue([record])
        let end = ContinuousClock.now + answerMax
        while true {
            let result = try await consumer.poll(
                recordsMax: 1,
                bytesMax: 1 << 20,
                wait: .seconds(1)
            )
            if !result.records.isEmpty { break }
            guard ContinuousClock.now < end else {
                throw BenchError("\(record.topic): a record was not consumed")
            }
        }
        if let failure = await delivery.report().failures.values.first {
            throw BenchError("\(record.topic): a record was not published: \(failure)")
        }
    }
}
