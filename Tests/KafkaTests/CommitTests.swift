import Kafka
import KitWrappers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommitTests {
    @Test(arguments: KafkaCluster.Kind.available)
    func `a commit carries its metadata, and the next member starts there`(kind: KafkaCluster.Kind) async throws {
        let cluster = try await KafkaCluster(kind)
        let topic = try await cluster.topic("commits")
        let partition = TopicPartition(topic: topic, partition: 0)
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = (0..<4).map { ProducerRecord(topic: topic, value: [$0]) }
        #expect(await producer.send(records).isComplete)
        let first = try GroupMember(cluster.consumer())
        try await first.consumer.subscribe([topic])
        #expect(try await first.run { $0.records.count == 4 })
        let metadata = String(repeating: "ä", count: 1_000)
        #expect(await first.commit(2, metadata, of: partition).failures.isEmpty)
        await first.consumer.close(deadline: .seconds(5))

        let second = try GroupMember(cluster.consumer())
        try await second.consumer.subscribe([topic])
        #expect(try await second.run { $0.records.count == 2 })
        #expect(await second.records.map(\.offset) == [2, 3])
        let committed = try await second.consumer.committed([partition], deadline: .hopeless)
        #expect(committed[partition] == CommittedOffset(offset: 2, metadata: metadata))
        await second.consumer.close(deadline: .seconds(5))
        await producer.close(deadline: .seconds(5))
    }

    @Test func `a commit while the broker is away ends at its deadline and polling goes on`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("away")
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { !$0.assigned.isEmpty })
        try cluster.mock?.takeDown()
        let partition = TopicPartition(topic: topic, partition: 0)
        let clock = ContinuousClock()
        let start = clock.now
        async let outcome = member.consumer.commit(
            [partition: OffsetCommit(offset: 1, metadata: "")], deadline: .seconds(3))
        try await member.step()
        #expect(clock.now - start < .seconds(3))
        let failure = await outcome.failures[partition]
        #expect(failure?.isRetriable == true)
        #expect(clock.now - start < .seconds(30))
        await member.consumer.close(deadline: .seconds(2))
    }

    @Test func `a fenced commit is reported as one`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("fenced")
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { !$0.assigned.isEmpty })
        try cluster.mock?.fail(.offsetCommit, with: [.illegalGeneration])
        let partition = TopicPartition(topic: topic, partition: 0)
        let outcome = await member.commit(0, "", of: partition)
        #expect(outcome.failures[partition]?.isFencedCommit == true)
        await member.consumer.close(deadline: .seconds(5))
    }

    @Test func `a closed consumer refuses commits and polls`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let consumer = try KafkaConsumer(configuration: cluster.consumer())
        await consumer.close(deadline: .seconds(2))
        let partition = TopicPartition(topic: "t", partition: 0)
        let outcome = await consumer.commit([partition: OffsetCommit(offset: 1, metadata: "")], deadline: .seconds(1))
        #expect(outcome.failures[partition]?.code == .closed)
        await #expect(throws: KafkaError.closed("consumer")) {
            try await consumer.poll(recordsMax: 1, bytesMax: 1, wait: .zero)
        }
    }
}
