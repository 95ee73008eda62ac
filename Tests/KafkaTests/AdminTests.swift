import Kafka
import KitWrappers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct AdminTests {
    @Test(.needsRealKafka) func `topics are created with their settings, and reported when they exist`() async throws {
        let cluster = try await KafkaCluster(.real)
        let admin = try KafkaAdmin(configuration: cluster.client)
        let topic = NewTopic(
            name: cluster.name("made"), partitions: 3, replication: 1,
            configuration: ["max.message.bytes": "2097152", "retention.ms": "60000"])
        #expect(try await admin.createTopics([topic], deadline: .hopeless).isEmpty)
        let again = try await admin.createTopics([topic], deadline: .hopeless)
        #expect(again[topic.name]?.code == .topicAlreadyExists)
        // The controller has the topic; the broker that answers hears of it a moment later.
        try await eventually("the topic is there") {
            let metadata = try await admin.metadata(topic: topic.name, deadline: .hopeless)
            return metadata[topic: topic.name]?.partitionCount == 3
        }
        let changes = ["retention.ms": "120000"]
        try await eventually("the setting is changed") {
            try await admin.setTopicConfiguration(topic.name, changes, deadline: .seconds(10)) == .answered(true)
        }
        try await eventually("the broker's controller tells its brokers a moment later") {
            let settings = try await admin.topicConfigurations([topic.name], deadline: .hopeless)
            let own = settings.value?[topic.name]?.filter { $0.value.isSetOnTopic }
            return own?.mapValues(\.value) == ["max.message.bytes": "2097152", "retention.ms": "120000"]
        }
        await admin.close()
    }

    @Test func `a broker that does not know a question leaves it unanswered`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("mock")
        let admin = try KafkaAdmin(configuration: cluster.client)
        let settings = try await admin.topicConfigurations([topic], deadline: .seconds(1))
        #expect(settings.value == nil)
        await admin.close()
    }

    @Test(arguments: KafkaCluster.Kind.available) func `offsets and what a group committed are listed`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let topic = try await cluster.topic("listed", partitions: 2)
        let partitions = (0..<2).map { TopicPartition(topic: topic, partition: $0) }
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = (0..<5).map { ProducerRecord(topic: topic, partition: 1, value: [$0]) }
        #expect(await producer.send(records).isComplete)
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.records.count == 5 })
        #expect(await member.commit(4, "v1", of: partitions[1]).failures.isEmpty)

        let admin = try KafkaAdmin(configuration: cluster.client)
        let offsets = try await admin.listOffsets(partitions, deadline: .hopeless)
        #expect(offsets[partitions[0]] == Watermarks(low: 0, high: 0))
        #expect(offsets[partitions[1]] == Watermarks(low: 0, high: 5))
        let committed = try await admin.committedOffsets(
            group: cluster.name("group"), partitions, deadline: .seconds(10))
        #expect(committed[partitions[0]] == CommittedOffset(offset: nil, metadata: ""))
        #expect(committed[partitions[1]] == CommittedOffset(offset: 4, metadata: "v1"))
        await admin.close()
        await member.consumer.close(deadline: .seconds(5))
        await producer.close(deadline: .seconds(5))
    }

    @Test(arguments: KafkaCluster.Kind.available) func `a group that nobody has seen has committed nothing`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let partition = TopicPartition(topic: try await cluster.topic("unread"), partition: 0)
        let admin = try KafkaAdmin(configuration: cluster.client)
        let committed = try await admin.committedOffsets(
            group: cluster.name("unseen"), [partition], deadline: .seconds(30))
        #expect(committed[partition] == CommittedOffset(offset: nil, metadata: ""))
        await admin.close()
    }

    @Test func `a leader that has moved is looked for again`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let partition = TopicPartition(topic: try await cluster.topic("moved"), partition: 0)
        let admin = try KafkaAdmin(configuration: cluster.client)
        // Each end of the partition is a request of its own.
        try cluster.mock?.fail(
            .listOffsets, with: [.notLeaderForPartition, .leaderNotAvailable, .notLeaderForPartition])
        let offsets = try await admin.listOffsets([partition], deadline: .hopeless)
        #expect(offsets == [partition: Watermarks(low: 0, high: 0)])
        await admin.close()
    }

    @Test func `a leader that is not found in time is an error`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let partition = TopicPartition(topic: try await cluster.topic("moved"), partition: 0)
        let admin = try KafkaAdmin(configuration: cluster.client)
        try cluster.mock?.fail(.listOffsets, with: Array(repeating: .notLeaderForPartition, count: 1_000))
        await #expect(throws: KafkaError.self) { try await admin.listOffsets([partition], deadline: .seconds(1)) }
        await admin.close()
    }

    @Test(.needsRealKafka) func `a topic that does not exist is reported by its error`() async throws {
        let cluster = try await KafkaCluster(.real)
        let admin = try KafkaAdmin(configuration: cluster.client)
        let name = cluster.name("absent")
        let metadata = try await admin.metadata(topic: name, deadline: .hopeless)
        #expect(metadata[topic: name]?.error?.code == .unknownTopicOrPartition)
        await admin.close()
    }
}
