import Foundation
import Kafka
import Operations
import Postgres
import Settings
import Simulation
import Store

/// The Kafka and the PostgreSQL of one demo: started for it, or there already and left as before.
///
/// The demo changes nothing on existing servers but what it creates: topics and groups whose names
/// begin with the run's name, and a database of its own. All of it is removed at the end.
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

    /// - Parameter properties: of librdkafka, for the way to a cluster that is there already.
    init(_ options: DemoOptions, properties: [String: String]) {
        self.options = options
        self.properties = properties
        runName = "demo-" + String(UInt32.random(in: .min ... .max), radix: 16)
    }

    /// Number of partitions: few, as each costs the mock memory; two show that the work is shared.
    private static let partitions: Int32 = 2

    /// Maximum bytes that wait for the stages; a real cluster holds all of them.
    var unsettledBytesMax: Int { mock == nil ? .max : Self.mockBytesMax }

    /// Maximum bytes, less than half of what the mock keeps of a partition: nearly all bodies have one key.
    private static let mockBytesMax = 2_000_000

    nonisolated var topicPrefix: String { "\(runName)." }

    /// The mock cluster drops what exceeds its space.
    var codec: String? { mock == nil ? nil : "lz4" }

    var database: PostgresOptions { Self.options(databaseURL) }

    var layout: TopicLayout { TopicLayout(prefix: topicPrefix, partitions: Self.partitions) }

    var kafkaConfiguration: [String: String] {
        let client = ["bootstrap.servers": bootstrap, "client.id": DemoTool.name]
        return properties.merging(client) { $1 }
    }

    /// Starts or finds Kafka and makes the topics.
    func startKafka() async throws {
        if let given = options.kafka {
            bootstrap = given
            let layout = layout
            _ = try await KafkaAdmin.lend(kafkaConfiguration) { admin in
                _ = try await admin.metadata(deadline: .seconds(30))
                // From here on there may be topics, whatever comes.
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

    /// Starts or finds PostgreSQL and makes the database.
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

    /// Removes and stops what this demo made and started, whatever state it is in.
    ///
    /// - Returns: what could not be removed, for a person to do.
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

    /// The same server and user with another database: of what is said twice, libpq takes the last.
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
