import Kafka
import Testing
import TestSupport

@Suite(.needsKafkaLauncher, .timeLimit(.minutes(10)))
struct AccessTests {
    /// With three brokers: where a single one is its own controller, the gap was never seen.
    @Test func `each broker enforces the rules when they are reported as made`() async throws {
        try await SecureKafka.lend(brokers: 3) { try await Self.expectEnforced($0) }
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
