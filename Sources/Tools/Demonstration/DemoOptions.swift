import Commands
import Settings
import Simulation

/// The options of a demo.
struct DemoOptions: Sendable {
    static let bodyCountMax = 200_000

    /// Number of published bodies.
    var bodyCount = 2_000
    /// The seed of the traffic: the same seed produces the same customers and purchases in the same order.
    var seed: UInt64 = 1
    /// Existing bootstrap servers.
    ///
    /// `nil` starts a mock cluster.
    var kafka: String?
    /// An existing server.
    ///
    /// `nil` starts a private one.
    var postgres: String?
    /// Whether to keep everything running until Ctrl-C.
    var isKeeping = false
    /// Whether to lose notifications, as an ingestion service may, and recover them from Apple's server.
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

    /// Prefixes of the variables for existing servers; servers that the demo starts must not receive them.
    var inheritedPrefixes: [String] {
        ["SWIFT_"] + (kafka == nil ? [] : ["RDKAFKA_", "SSL_"]) + (postgres == nil ? [] : ["PG"])
    }

    /// Maximum bodies with the mock, which keeps a few megabytes per partition and silently drops
    /// older records.
    static let mockBodyCountMax = 4_000
}
