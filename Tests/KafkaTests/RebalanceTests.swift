import Kafka
import KitWrappers
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RebalanceTests {
    @Test(arguments: KafkaCluster.Kind.available) func `a revoked partition is kept until the revocation is completed`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let topic = try await cluster.topic("shared", partitions: 4)
        let first = try GroupMember(cluster.consumer(), completesRevocations: false)
        try await first.consumer.subscribe([topic])
        #expect(try await first.run { $0.assigned.count == 4 })
        let second = try GroupMember(cluster.consumer())
        try await second.consumer.subscribe([topic])
        async let joined = second.run { $0.assigned.count == 2 }
        #expect(try await first.run { $0.revoked.count == 2 })
        // Records in hand of the revoked partitions can still be committed.
        let revoked = await first.revoked
        let partition = try #require(revoked.first)
        // Kafka's coordinator takes it also while somebody joins; the mock's refuses it then, and
        // the joining waits for the revocation.
        await eventually("the commit is taken") {
            let failures = await first.commit(0, "last", of: partition).failures
            return failures.values.allSatisfy { kind == .mock && $0.code == .rebalanceInProgress }
        }
        #expect(await second.assigned.isEmpty)
        try await first.consumer.completeRevocation(revoked)
        async let kept: Bool = first.run { member in member.assigned.count == 2 }
        let isStable = try await kept
        #expect(isStable)
        try await keepPolling(first) { await second.assigned.count == 2 }
        #expect(try await joined)
        #expect(await second.assigned.union(first.assigned).count == 4)
        await second.consumer.close(deadline: .seconds(5))
        await first.consumer.close(deadline: .seconds(5))
    }

    @Test func `a session that ends reports its partitions as lost`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("lost", partitions: 2)
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.assigned.count == 2 })
        try cluster.mock?.fail(.heartbeat, with: [.unknownMember])
        #expect(try await member.run { !$0.lost.isEmpty })
        #expect(Set(await member.lost).count == 2)
        #expect(try await member.run { $0.assigned.count == 2 })
        await member.consumer.close(deadline: .seconds(5))
    }

    @Test func `closing does not wait for an assignment that nobody has answered`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("unanswered")
        let consumer = try KafkaConsumer(configuration: cluster.consumer())
        try await consumer.subscribe([topic])
        try await eventually {
            try await !consumer.poll(recordsMax: 1, bytesMax: 1, wait: .milliseconds(20)).events.isEmpty
        }
        #expect(await consumer.close(deadline: .seconds(30)))
    }

    /// A group with more copies than partitions has such members.
    @Test(arguments: KafkaCluster.Kind.available, [true, false])
    func `closing does not wait for an assignment of nothing that nobody has answered`(
        kind: KafkaCluster.Kind, isLeaving: Bool
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let topic = try await cluster.topic("taken")
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.assigned.count == 1 })
        let consumer = try KafkaConsumer(configuration: cluster.consumer())
        try await consumer.subscribe([topic])
        try await keepPolling(member) {
            let result = try? await consumer.poll(recordsMax: 1, bytesMax: 1, wait: .milliseconds(20))
            return result?.events == [.assigned([])]
        }
        #expect(await consumer.close(isLeaving: isLeaving, deadline: .seconds(30)))
        await member.consumer.close(deadline: .seconds(5))
    }

    @Test func `a paused partition brings nothing, and resumes after the last record`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("paused")
        let partition = TopicPartition(topic: topic, partition: 0)
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = (0..<6).map { ProducerRecord(topic: topic, value: [$0]) }
        #expect(await producer.send(records).isComplete)
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        try await eventually {
            try await member.step(recordsMax: 2)
            return await member.records.count >= 2
        }
        try await member.consumer.pause([partition])
        let before = await member.records.count
        for _ in 0..<20 { try await member.step() }
        #expect(await member.records.count == before)
        try await member.consumer.resume([partition])
        #expect(try await member.run { $0.records.count == 6 })
        #expect(await member.records.map(\.offset) == Array(0..<6))
        try await member.consumer.seek([partition: 1], deadline: .hopeless)
        #expect(try await member.run { $0.records.count == 11 })
        #expect(await member.records.suffix(5).map(\.offset) == Array(1..<6))
        await member.consumer.close(deadline: .seconds(5))
        await producer.close(deadline: .seconds(5))
    }

    /// Settings of a static member whose session of two minutes frees its partitions only if it
    /// leaves.
    private static let staticMember = ["group.instance.id": "static", "session.timeout.ms": "120000"]

    /// The mock's group waits for a whole session when a member joins.
    @Test(.needsRealKafka, arguments: [true, false]) func `a static member that leaves hands on its partitions at once`(
        isRevoking: Bool
    ) async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await cluster.topic("left", partitions: 4)
        let first = try GroupMember(
            cluster.consumer(group: "static", Self.staticMember), completesRevocations: !isRevoking)
        try await first.consumer.subscribe([topic])
        #expect(try await first.run { $0.assigned.count == 4 })
        let second = try GroupMember(cluster.consumer(group: "static"))
        try await second.consumer.subscribe([topic])
        async let handedOn = second.run { $0.assigned.count == 4 }
        try await keepPolling(first) {
            let isShared = await second.assigned.count == 2
            return await first.revoked.count == 2 && (isRevoking || isShared)
        }
        #expect(await first.consumer.close(isLeaving: true, deadline: .seconds(20)))
        #expect(try await handedOn)
        await second.consumer.close(deadline: .seconds(5))
    }

    @Test func `a static member leaves a silent cluster within its deadline`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("gone", partitions: 2)
        let member = try GroupMember(cluster.consumer(group: "static", Self.staticMember))
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.assigned.count == 2 })
        cluster.mock?.stop()
        let start = ContinuousClock.now
        await member.consumer.close(isLeaving: true, deadline: .seconds(2))
        #expect(ContinuousClock.now - start < .hopeless)
    }

    /// The test runs in a process of its own, because librdkafka before 2.3 ended it.
    @Test func `a member that is closed before its first assignment ends nothing else`() async {
        await #expect(processExitsWith: .success) { try await Self.closeBeforeAssignment() }
    }

    private static func closeBeforeAssignment() async throws {
        let cluster = try MockCluster()
        try cluster.createTopic("rearranged", partitions: 1)
        // The group accepts the member and rebalances before it assigns anything.
        try cluster.fail(.syncGroup, with: Array(repeating: .rebalanceInProgress, count: 1_000))
        let refusals = Atomic(0)
        let consumer = try KafkaConsumer(
            configuration: ["bootstrap.servers": cluster.bootstrapServers, "group.id": "g", "debug": "cgrp"],
            handlers: KafkaHandlers(
                onLog: { line in
                    guard line.message.contains("SyncGroup error") else { return }
                    refusals.add(1, ordering: .relaxed)
                }, onError: { _ in }))
        try await consumer.subscribe(["rearranged"])
        try await eventually {
            _ = try await consumer.poll(recordsMax: 1, bytesMax: 1, wait: .milliseconds(20))
            return refusals.load(ordering: .relaxed) > 0
        }
        await consumer.close(deadline: .seconds(5))
        cluster.stop()
    }

    private func keepPolling(_ member: GroupMember, until isDone: () async -> Bool) async throws {
        try await eventually {
            try await member.step()
            return await isDone()
        }
    }
}
