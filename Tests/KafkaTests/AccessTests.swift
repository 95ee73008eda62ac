import Kafka
import Testing
import TestSupport

@Suite(.needsKafkaLauncher, .timeLimit(.minutes(10))) struct AccessTests {
    @Test func `a missing right on a group is named, each time it is asked for`() async throws {
        try await SecureKafka.lend { kafka in
            let owner = try KafkaAdmin(configuration: try kafka.properties("admin", .mtls))
            let topic = NewTopic(name: "read", partitions: 1, replication: 1)
            #expect(try await owner.createTopics([topic], deadline: .seconds(20)).isEmpty)
            let worker = try kafka.properties("worker", .mtls)
            try kafka.execute(
                """
                kafka-acls.sh --add --allow-principal User:worker --operation Read --topic read
                """)
            let admin = try KafkaAdmin(configuration: worker)
            for _ in 0..<2 {
                let error = await #expect(throws: KafkaError.self) {
                    try await admin.committedOffsets(
                        group: "stage", [TopicPartition(topic: "read", partition: 0)], deadline: .seconds(3))
                }
                #expect(error?.name == "GROUP_AUTHORIZATION_FAILED", "\(String(describing: error))")
            }
            await admin.close()
            await owner.close()
        }
    }
}
