import Foundation
import Kafka
import KitWrappers
import Operations
import Postgres
import Settings
import Simulation
import Store

/// The Kafka and PostgreSQL servers of one demo: started for it, or existing ones.
///
/// On existing servers the demo only creates topics and groups whose names begin with the run's
/// name, and a separate database. It removes all of them at the end.
actor DemoServers {
    nonisolated let runName: String
    private let options: DemoOptions
    private var mock: MockCluster?
    private var server: PrivatePostgres?
    private var ownDatabase: PostgresOptions?
    private var hasTopics = false
    private let properties: [String: String]
    private(set) var bootstrap = ""
    private(set) var databaseURL = ""

    /// - Parameter properties: librdkafka properties for connecting to an existing cluster.
    init(_ options: DemoOptions, properties: [String: String]) {
        self.options = options
        self.properties = properties
        runName = "demo-" + String(UInt32.random(in: .min ... .max), radix: 16)
    }

    /// Number of partitions: few, because each costs the mock memory; two show that the work is shared.
    private static let partitions: Int32 = 2

    /// Maximum bytes that may wait for the stages; unlimited with a real cluster.
    var unsettledBytesMax: Int { mock == nil ? .max : Self.mockBytesMax }

    /// Maximum bytes that may wait with the mock: less than half of its space per partition,
    /// because nearly all bodies have the same key.
    private static let mockBytesMax = 2_000_000

    nonisolated var topicPrefix: String { "\(runName)." }

    /// The codec; records for the mock are compressed, because it drops what exceeds its space.
    var codec: String? { mock == nil ? nil : "lz4" }

    var database: PostgresOptions { Self.options(databaseURL) }

    var layout: TopicLayout { TopicLayout(prefix: topicPrefix, partitions: Self.partitions) }

    var kafkaConfiguration: [String: String] {
        let client = ["bootstrap.servers": bootstrap, "client.id": DemoTool.name]
        return properties.merging(client) { $1 }
    }

    /// Starts or finds Kafka and creates the topics.
    func startKafka() async throws {
        if let given = options.kafka {
            bootstrap = given
            let layout = layout
            _ = try await KafkaAdmin.lend(kafkaConfiguration) { admin in
                _ = try await admin.metadata(deadline: .seconds(30))
                // Topics may exist from here on, even after an error.
                hasTopics = true
                return try await TopicDeployment(admin, layout).run(isAltering: false)
            }
            return
        }
        let cluster = try MockCluster()
        mock = cluster
        bootstrap = cluster.bootstrapServers
        for plan in layout.plans { try cluster.createTopic(plan.name, partitions: Int(plan.partitions)) }
    }

    /// Starts or finds PostgreSQL and creates the database.
    func startPostgres() async throws {
        guard let given = options.postgres else {
            let server = try await PrivatePostgres.start()
            self.server = server
            databaseURL = server.connectionString()
            return
        }
        let administration = Self.options(given)
        let name = databaseName
        try await PostgresConnection.lend(administration) { connection in try await Self.create(name, on: connection) }
        ownDatabase = administration
        databaseURL = Self.naming(database: name, in: given)
    }

    /// Removes what this demo created and stops what it started, in any state.
    ///
    /// - Returns: descriptions of what could not be removed, for the user.
    func stop() async -> [String] {
        var left: [String] = []
        if hasTopics { left += await removeTopics() }
        if let ownDatabase { left += await removeDatabase(ownDatabase) }
        mock?.stop()
        do { try await server?.remove() } catch { left.append("the private PostgreSQL: \(error)") }
        (mock, server, ownDatabase, hasTopics) = (nil, nil, nil, false)
        return left
    }

    /// The locations of Kafka and PostgreSQL, for the first lines of the demo.
    var description: String {
        let kafka = mock == nil ? "Kafka at \(bootstrap)" : "librdkafka's mock cluster"
        let postgres = server == nil ? "a database of its own, \(databaseName)" : "a private PostgreSQL"
        return "\(kafka) (topics \(topicPrefix)*) and \(postgres)"
    }

    private var databaseName: String { runName.split(separator: "-").joined(separator: "_") }

    private static func options(_ url: String) -> PostgresOptions {
        PostgresOptions(connectionString: url, applicationName: DemoTool.name)
    }

    private static func create(_ name: String, on connection: PostgresConnection) async throws {
        do { try await DatabaseAdministration.create(name, on: connection) } catch let error as PostgresError
            where error.sqlState == .insufficientPrivilege
        {
            throw CommandError(
                ExitCode.configuration,
                "the demo works in a database of its own, \(name), and this user may not create "
                    + "one: ALTER ROLE … CREATEDB, or name another user in --postgres")
        }
    }

    /// Returns a connection string with another database; libpq uses the last of repeated parameters.
    static func naming(database: String, in connectionString: String) -> String {
        guard connectionString.contains("://") else { return "\(connectionString) dbname=\(database)" }
        let separator = connectionString.contains("?") ? "&" : "?"
        return "\(connectionString)\(separator)dbname=\(database)"
    }

    private func removeTopics() async -> [String] {
        let topics = layout.plans.map(\.name)
        let deadline = Duration.seconds(15)
        do {
            let failures = try await KafkaAdmin.lend(kafkaConfiguration) { admin in
                try await admin.deleteTopics(topics, deadline: deadline)
            }
            return failures.filter { $0.value.code != .unknownTopicOrPartition }.map { "topic \($0.key): \($0.value)" }
        } catch { return ["the topics \(topicPrefix)*: \(error)"] }
    }

    private func removeDatabase(_ administration: PostgresOptions) async -> [String] {
        let name = databaseName
        do {
            try await PostgresConnection.lend(administration) { connection in
                try await DatabaseAdministration.drop(name, on: connection)
            }
            return []
        } catch { return ["the database \(name): \(error)"] }
    }
}
