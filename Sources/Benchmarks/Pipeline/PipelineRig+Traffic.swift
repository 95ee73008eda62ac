import Kafka
import Operations
import Worker

/// What goes into a rig, and how one sees that it has come out.
extension PipelineRig {
    private static let standstillMax = Duration.seconds(60)

    /// Publishes a record for each index and waits until the broker has taken them all.
    func publish(
        _ indices: Range<Int>,
        to stage: StageDescription,
        _ record: (Int, _ topic: String) throws -> ProducerRecord
    ) async throws {
        let topic = layout.prefix + stage.inputTopic
        let producer = try KafkaProducer(configuration: kafka)
        var publisher = Publisher(producer, topic: topic)
        for index in indices {
            await publisher.add(try record(index, topic), origin: "bench")
        }
        let report = await publisher.finish()
        await producer.close(deadline: .seconds(10))
        if let failure = report.failures.first {
            throw BenchError("\(report.failedCount) records not published: \(failure.error)")
        }
    }

    /// Waits until a stage has committed so many records.
    func waitUntilSettled(_ count: Int, by stage: StageDescription) async throws {
        let admin = try KafkaAdmin(configuration: kafka)
        defer { Task { await admin.close() } }
        let topic = layout.prefix + stage.inputTopic
        let partitions = (0..<layout.partitions).map {
            TopicPartition(topic: topic, partition: $0)
        }
        var last: Int64 = -1
        var lastMove = ContinuousClock.now
        while true {
            try requireRunning()
            let committed = try await admin.committedOffsets(
                group: settings.group(stage),
                partitions,
                deadline: .seconds(30)
            )
            let settled = committed.values.reduce(0) { $0 + ($1.offset ?? 0) }
            if settled >= count { return }
            if settled != last {
                (last, lastMove) = (settled, .now)
            } else if ContinuousClock.now - lastMove > Self.standstillMax {
                throw BenchError("only \(settled) of \(count) records were settled")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
