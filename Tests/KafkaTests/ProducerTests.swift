import Foundation
import KitWrappers
import Synchronization
import TestSupport
import Testing

@testable import Kafka

@Suite(.timeLimit(.minutes(10))) struct ProducerTests {
    @Test func `a record beyond the client's limit fails alone, as the record's fault`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("large")
        let producer = try KafkaProducer(configuration: cluster.client.merging(["message.max.bytes": "2000"]) { $1 })
        let report = await producer.send([
            ProducerRecord(topic: topic, value: [1]),
            ProducerRecord(topic: topic, value: Array(repeating: 0, count: 3_000)),
            ProducerRecord(topic: topic, value: [2]),
        ])
        #expect(Array(report.failures.keys) == [1])
        #expect(report.failures[1]?.isRecordFault == true)
        await producer.close(deadline: .seconds(5))
    }

    @Test(.needsRealKafka) func `a record beyond the topic's limit fails as the record's fault`() async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await cluster.topic("limited", configuration: ["max.message.bytes": "2000"])
        let producer = try KafkaProducer(configuration: cluster.client.merging(["compression.type": "none"]) { $1 })
        let report = await producer.send([ProducerRecord(topic: topic, value: Array(repeating: 0, count: 3_000))])
        #expect(report.failures[0]?.code == .messageTooLarge)
        #expect(report.failures[0]?.isRecordFault == true)
        await producer.close(deadline: .seconds(5))
    }

    @Test func `what the broker refuses for a while is written once it takes it`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("retried")
        let producer = try KafkaProducer(configuration: cluster.client)
        try cluster.mock?.fail(.produce, with: [.requestTimedOut, .notEnoughReplicas, .disconnect])
        let report = await producer.send((0..<10).map { ProducerRecord(topic: topic, value: [$0]) })
        #expect(report.isComplete)
        await producer.close(deadline: .seconds(5))
    }

    @Test func `a message that times out is the infrastructure's fault`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("timeout")
        let producer = try KafkaProducer(configuration: cluster.client.merging(["message.timeout.ms": "500"]) { $1 })
        try cluster.mock?.takeDown()
        let report = await producer.send([ProducerRecord(topic: topic, value: [1])])
        #expect(report.failures[0]?.code == .messageTimedOut)
        #expect(report.failures[0]?.isRecordFault == false)
        #expect(report.failures[0]?.isRetriable == true)
        try cluster.mock?.bringUp()
        await eventually { await producer.send([ProducerRecord(topic: topic, value: [1])]).isComplete }
        await producer.close(deadline: .seconds(5))
    }

    @Test func `a full queue is waited for, and closing reports what was not written`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("queue")
        let producer = try KafkaProducer(
            configuration: cluster.client.merging(["queue.buffering.max.messages": "10"]) { $1 })
        let many = (0..<200).map { ProducerRecord(topic: topic, value: [UInt8($0)]) }
        #expect(await producer.send(many).isComplete)
        try cluster.mock?.takeDown()
        let delivery = await producer.enqueue([ProducerRecord(topic: topic, value: [1])])
        #expect(await producer.close(deadline: .milliseconds(200)) == false)
        #expect(await delivery.report().failures[0]?.code == .purged)
        #expect(await producer.send(Array(many.prefix(1))).failures[0]?.code == .closed)
    }

    @Test func `records wait for those before them, so that no thread polls for room`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("one-after-the-other")
        let producer = try KafkaProducer(configuration: cluster.client, patience: .seconds(60))
        let record = ProducerRecord(topic: topic, value: [1])
        #expect(await producer.send([record]).isComplete)
        try cluster.mock?.takeDown()
        let first = await producer.enqueue([record])
        let wasWrittenFirst = Task {
            _ = await producer.enqueue([record])
            return first.isComplete
        }
        try cluster.mock?.bringUp()
        #expect(await wasWrittenFirst.value)
        await producer.close(deadline: .seconds(5))
    }

    @Test func `a slow broker is waited for without asking whether more may be sent`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("slow")
        let producer = try KafkaProducer(
            configuration: cluster.client.merging(["batch.size": "10000"]) { $1 }, patience: .seconds(60))
        let record = ProducerRecord(topic: topic, value: Array(repeating: 0, count: 1_000))
        #expect(await producer.send([record]).isComplete)
        try cluster.mock?.delayAnswers(by: .milliseconds(300))
        let before = try BrokerThreads.processorTime()
        // Each is several requests of one partition, which leave one after the other.
        let first = await producer.enqueue(Array(repeating: record, count: 30))
        let second = await producer.enqueue(Array(repeating: record, count: 30))
        #expect(await first.report().isComplete)
        #expect(await second.report().isComplete)
        // The whole took more than two seconds.
        #expect(try BrokerThreads.processorTime() - before < .milliseconds(300))
        await producer.close(deadline: .seconds(5))
    }

    /// Two requests of a partition are under way, and the broker answers the first that it no
    /// longer leads the partition; librdkafka counts the first as written once the second is.
    @Test func `a record counts as written only where the broker says at which offset`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("implicit")
        let lines = Mutex<[KafkaLogLine]>([])
        let producer = try KafkaProducer(
            configuration: cluster.client,
            handlers: KafkaHandlers(onLog: { line in lines.withLock { $0.append(line) } }), patience: .zero)
        let early = ProducerRecord(topic: topic, partition: 0, value: [0])
        let refused = ProducerRecord(
            topic: topic, partition: 0, key: [7], value: [1],
            headers: [KafkaHeader(name: "h", value: nil), KafkaHeader(name: "i", value: [8])])
        let late = ProducerRecord(topic: topic, partition: 0, value: [2])
        #expect(await producer.send([early]).isComplete)
        try cluster.mock?.fail(.produce, with: [.notLeaderForPartition])
        try cluster.mock?.delayAnswers(by: .milliseconds(400))
        let first = await producer.enqueue([refused])
        // Waits until the flush of the first is over, so that each is a request of its own.
        let second = await producer.enqueue([late])
        #expect(await first.report() == DeliveryReport(offsets: [2], failures: [:]))
        #expect(await second.report() == DeliveryReport(offsets: [1], failures: [:]))
        #expect(lines.withLock { $0.map(\.facility) } == ["NOOFFSET"])
        await producer.close(deadline: .seconds(5))
        try cluster.mock?.delayAnswers(by: .zero)
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.records.count >= 3 })
        let records = await member.records
        #expect(records.map(\.value) == [[0], [2], [1]])
        #expect(records.last?.key == [7] && records.last?.headers == refused.headers)
        await member.consumer.close(deadline: .seconds(5))
    }

    @Test func `records wait a while only for those before them`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("impatient")
        let producer = try KafkaProducer(configuration: cluster.client, patience: .milliseconds(50))
        let record = ProducerRecord(topic: topic, value: [1])
        try cluster.mock?.takeDown()
        let first = await producer.enqueue([record])
        _ = await producer.enqueue([record])
        #expect(!first.isComplete)
        await producer.close(deadline: .milliseconds(200))
    }

    @Test func `after a fatal error the producer says so, and a new one goes on`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("fatal")
        let producer = try KafkaProducer(configuration: cluster.client)
        #expect(await producer.send([ProducerRecord(topic: topic, value: [1])]).isComplete)
        try cluster.mock?.fail(.produce, with: Array(repeating: .outOfOrderSequence, count: 3))
        let report = await producer.send([ProducerRecord(topic: topic, value: [2])])
        #expect(report.failures[0]?.isRecordFault == false)
        #expect(producer.fatalError != nil)
        try cluster.mock?.clearFailures(.produce)
        await producer.close(deadline: .seconds(2))
        let next = try KafkaProducer(configuration: cluster.client)
        #expect(await next.send([ProducerRecord(topic: topic, value: [2])]).isComplete)
        await next.close(deadline: .seconds(5))
    }
}

/// The threads by which librdkafka's clients in this process talk to brokers.
enum BrokerThreads {
    /// Processor time of the threads since their start (`proc_pid_stat(5)`).
    static func processorTime() throws -> Duration {
        let tasks = URL(filePath: "/proc/self/task")
        let threads = try FileManager.default.contentsOfDirectory(at: tasks, includingPropertiesForKeys: nil)
        let ticks = threads.reduce(0) { sum, thread in
            let file = thread.appending(path: "stat")
            // The file of a thread that has ended is gone.
            guard let text = try? String(contentsOf: file, encoding: .utf8), text.contains("(rdk:broker"),
                let end = text.lastIndex(of: ")")
            else { return sum }
            // Behind the name: the state, then others; user and system time are 12th and 13th.
            let fields = text[text.index(after: end)...].split(separator: " ")
            return sum + (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
        }
        return .seconds(ticks) / sysconf(Int32(_SC_CLK_TCK))
    }
}
