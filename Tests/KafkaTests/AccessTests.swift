import Kafka
import Testing
import TestSupport

@Suite(.needsKafkaLauncher, .timeLimit(.minutes(10)))
struct AccessTests {
    /// With three brokers: where a single one is its own controller, the gap was never seen.
    @Test func `each broker enforces the rules when they are reported as made`() async throws {
        try await SecureKafka.lend(brokers: 3) { try await Self.expectEnforced($0) }
    }

    @Test func `a missing right on a group is named, each time it is asked for`() async throws {
        try await SecureKafka.lend { kafka in
            let owner = try KafkaAdmin(configuration: try kafka.properties("admin", .mtls))
            let topic = NewTopic(name: "read", partitions: 1, replication: 1)
            #expect(try await owner.createTopics([topic], deadline: .seconds(20)).isEmpty)
            let worker = try kafka.properties("worker", .mtls)
            try await owner.allow(
                [KafkaAccessRule("User:worker", may: .read, .topic, "read")],
                deadline: .seconds(30)
            )
            let admin = try KafkaAdmin(configuration: worker)
            for _ in 0..<2 {
                let error = await #expect(throws: KafkaError.self) {
                    try await admin.committedOffsets(
                        group: "stage",
                        [TopicPartition(topic: "read", partition: 0)],
                        deadline: .seconds(3)
                    )
                }
                #expect(error?.name == "GROUP_AUTHORIZATION_FAILED", "\(String(describing: error))")
            }
            await admin.close()
            await owner.close()
        }
    }

    private static func expectEnforced(_ kafka: SecureKafka) async throws {
        let admin = try KafkaAdmin(configuration: try kafka.properties("admin", .mtls))
        let brokers = try await admin.metadata(deadline: .hopeless).brokerIDs
        #expect(brokers.count == 3)
        for round in 0..<20 {
            let rules = Set(
                (0..<20).map {
                    KafkaAccessRule(
                        "User:holder-\(round)",
                        may: .read,
                        .topic,
                        "topic-\($0)",
                        isPrefix: $0.isMultiple(of: 2)
                    )
                }
            )
            try await admin.allow(Array(rules), deadline: .seconds(30))
            for broker in brokers {
                let enforced = try await admin.enforcedRules(
                    ofBroker: broker,
                    deadline: .seconds(10)
                )
                #expect(rules.isSubset(of: enforced), "broker \(broker), round \(round)")
            }
        }
        await admin.close()
    }
}
