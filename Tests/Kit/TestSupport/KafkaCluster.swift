import Foundation
import Kafka
package import KitWrappers
import Testing

/// A cluster for a test, mock or real, behind one face.
package struct KafkaCluster: Sendable {
    package enum Kind: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case mock, real

        /// The clusters that this machine can run.
        package static let available = allCases.filter { $0 == .mock || RealKafka.isAvailable }

        /// The real one where this machine can have it, else the mock: for tests that are a whole
        /// machine's work for minutes, and ask little of the broker that the others do not ask.
        package static let preferred: [Self] = RealKafka.isAvailable ? [.real] : [.mock]

        package var testDescription: String { rawValue }
    }

    package let kind: Kind
    package let bootstrapServers: String
    /// The mock itself, for faults on demand.
    ///
    /// `nil` for a real one.
    package let mock: MockCluster?
    private let suffix = UUID().uuidString.prefix(8)

    /// A mock of its own, or the one real cluster of this run.
    package init(_ kind: Kind) async throws {
        self.kind = kind
        switch kind {
        case .mock:
            let cluster = try MockCluster()
            mock = cluster
            bootstrapServers = cluster.bootstrapServers
        case .real:
            mock = nil
            bootstrapServers = try await RealKafka.bootstrapServers()
        }
    }

    /// A real one that the test has started for itself.
    package init(startedAt bootstrapServers: String) {
        kind = .real
        mock = nil
        self.bootstrapServers = bootstrapServers
    }

    /// A name that no other test uses.
    package func name(_ base: String) -> String { "\(base)-\(suffix)" }

    /// Creates a topic and returns its name.
    @discardableResult package func topic(_ base: String, partitions: Int = 1, configuration: [String: String] = [:])
        async throws -> String
    {
        let name = name(base)
        if let mock {
            try mock.createTopic(name, partitions: partitions)
            return name
        }
        let admin = try KafkaAdmin(configuration: client)
        let topic = NewTopic(name: name, partitions: partitions, replication: 1, configuration: configuration)
        let failures = try await admin.createTopics([topic], deadline: .hopeless)
        await admin.close()
        if let error = failures[name] { throw error }
        return name
    }

    /// The settings that every client of it needs.
    package var client: [String: String] { ["bootstrap.servers": bootstrapServers] }

    /// The settings of a member of a group of this test's own, quick to notice who is gone.
    package func consumer(group: String = "group", _ more: [String: String] = [:]) -> [String: String] {
        [
            "bootstrap.servers": bootstrapServers, "group.id": name(group),
            // The mock holds a first join for 3 s and drops members whose session ends before.
            "session.timeout.ms": kind == .mock ? "4000" : "6000", "heartbeat.interval.ms": "300",
        ].merging(more) { $1 }
    }
}
