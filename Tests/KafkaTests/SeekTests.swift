import Kafka
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(10))) struct SeekTests {
    /// librdkafka writes its log on the thread that performs the seek, and here finds it busy.
    @Test func `a seek waits for its whole deadline`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let partition = TopicPartition(topic: try await cluster.topic("sought"), partition: 0)
        let consumer = try KafkaConsumer(
            configuration: cluster.consumer().merging(["debug": "topic"]) { $1 },
            handlers: KafkaHandlers(onLog: { line in
                guard line.message.contains("Seek") else { return }
                let end = ContinuousClock.now + .milliseconds(500)
                while ContinuousClock.now < end {}
            }))
        try await consumer.assign(with: [partition: 0])
        _ = try await consumer.poll(recordsMax: 1, bytesMax: 1, wait: .seconds(5))
        // A thousandth of it is shorter than the log is busy.
        try await consumer.seek([partition: 0], deadline: .seconds(300))
        await consumer.close(deadline: .seconds(5))
    }
}
