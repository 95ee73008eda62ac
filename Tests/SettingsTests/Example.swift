import Settings

/// A schema with one setting of each kind.
enum Example {
    enum Mode: String, CaseIterable, Sendable { case identity, links }

    static let bootstrap = Setting("kafka.bootstrap", .hostPorts, "Kafka's servers.")
    static let prefix = Setting(
        "topic.prefix", .string(bytes: 0...100), default: "storekit.", "Begins every topic's name.")
    static let recordsMax = Setting("batch.records_max", .int(1...100_000), default: 1000, "Maximum records per batch.")
    static let bytesMax = Setting(
        "batch.bytes_max", .bytes(1024...(64 << 20)), default: 4 << 20, "Bytes in one batch at most.")
    static let budget = Setting(
        "shutdown.budget", .duration(.milliseconds(100)...(.seconds(600))), default: .seconds(20),
        "Time to finish at the end.")
    static let trust = Setting(
        "linking.trust_ingest_user", .bool, default: false, "Whether user IDs of the ingestion count.")
    static let mode = Setting("linking.mode", .choice, default: Mode.links, "What a token is.")
    static let catalog = Setting<String?>.optional("catalog.file", .file, "The product catalog.")
    static let database = Setting("postgres.url", .string(), isSecret: true, "Where PostgreSQL is.")
    static let apps = Setting<[AppSetting]?>.optional("apps", .apps, "The apps.")

    static let schema = SettingsSchema([
        bootstrap.declaration, prefix.declaration, recordsMax.declaration, bytesMax.declaration, budget.declaration,
        trust.declaration, mode.declaration, catalog.declaration, database.declaration, apps.declaration,
    ])

    /// An environment with all that is required.
    static let environment = ["KAFKA_BOOTSTRAP": "broker:9092", "POSTGRES_URL": "postgres://secret"]

    /// Reads the required environment with changes, and a file.
    static func read(_ changes: [String: String?] = [:], file: String? = nil) throws(SettingsError) -> SettingsValues {
        var environment = environment
        for (name, value) in changes { environment[name] = value }
        guard let file else { return try schema.read(environment: environment) }
        return try schema.read(
            environment: environment, file: SettingsFile(path: "settings.json", bytes: Array(file.utf8)))
    }

    /// The problems of such a reading, as text.
    static func problems(_ changes: [String: String?] = [:], file: String? = nil) -> [String] {
        do {
            _ = try read(changes, file: file)
            return []
        } catch { return error.problems.map(\.description) }
    }
}
