import Commands
import Settings
import Simulation

/// The options of a demo.
struct DemoOptions: Sendable {
    static let bodyCountMax = 200_000

    /// Number of published bodies.
    var bodyCount = 2_000
    /// The same seed makes the same customers and purchases in the same order.
    var seed: UInt64 = 1
    /// Bootstrap servers that are there already; nil starts a mock cluster.
    var kafka: String?
    /// A server that is there already; nil starts a private one.
    var postgres: String?
    /// Leaves everything running until Ctrl-C.
    var isKeeping = false
    /// Loses notifications as an ingestion service does, and fetches them from Apple's server.
    var isRecovering = false
    var isJSON = false

    init(_ arguments: CommandArguments) throws(UsageError) {
        let counts = DemoTraffic.bodyCountMin...Self.bodyCountMax
        if let count = try arguments.value("count", as: .int(counts)) { bodyCount = count }
        if let seed = try arguments.value("seed", as: .int(0...Int.max)) { self.seed = UInt64(seed) }
        let kafka = try arguments.value("kafka", as: .hostPorts)
        self.kafka = kafka?.commaSeparated
        postgres = arguments.value("postgres")
        isKeeping = arguments.isSet("keep")
        isRecovering = arguments.isSet("recovery")
        isJSON = arguments.isSet("json")
        guard kafka != nil || bodyCount <= Self.mockBodyCountMax else {
            throw UsageError(
                "--count: the mock cluster holds \(Self.mockBodyCountMax) bodies at most; name a "
                    + "real one with --kafka for more")
        }
    }

    /// The variables that lead to servers which are there already; those that the demo starts would
    /// not understand them.
    var inheritedPrefixes: [String] {
        ["SWIFT_"] + (kafka == nil ? [] : ["RDKAFKA_", "SSL_"]) + (postgres == nil ? [] : ["PG"])
    }

    /// The mock keeps a few megabytes a partition and silently drops what is older.
    static let mockBodyCountMax = 4_000
}
