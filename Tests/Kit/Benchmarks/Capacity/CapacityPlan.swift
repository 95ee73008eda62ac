import Records
import Topology

/// The load to carry, and the machines that carry it.
struct CapacityDemand: Sendable {
    var recordsPerDay: Double
    /// How many times the day's average rate the busiest minutes have.
    var peakFactor: Double
    /// How much of a processor is used at the peak; the rest catches up after an outage.
    var utilization = 0.6
    var retentionDays = 7.0
    var replication = 3
    /// Cores of each broker.
    var brokerCores = 4.0
    /// The share of records that bring something new; the rest are duplicates.
    var newShare = 1.0
    /// All topics together, per raw record and replica.
    var kafkaBytesPerRecord = 10_000.0
    /// Tables and indexes, per record that brings something new.
    var databaseBytesPerRecord = 6_000.0

    var peakRecordsPerSecond: Double { recordsPerDay / 86_400 * peakFactor }
}

/// How much of everything a demand needs: arithmetic on measured costs, and no measurement.
struct CapacityPlan: Sendable {
    /// Processor cores of each stage at the peak, before the reserve.
    let workerCores: [StageDescription: Double]
    /// Copies of each worker, of one core each; two at least, so that one may fail.
    let copies: [StageDescription: Int]
    /// Partitions of each topic: twice the copies of the largest worker, as room for more copies.
    let partitions: Int
    let brokerCores: Double
    /// As many as there are replicas at least.
    let brokers: Int
    let brokerDiskBytes: Double
    let postgresCores: Double
    let databaseBytesPerDay: Double
    let walBytesPerDay: Double
    /// Connections to PostgreSQL, with each pool full.
    let connections: Int

    private static let copiesMin = 2
    private static let partitionsMin = 8
    /// A pool of four, and one that listens.
    private static let connectionsPerCopy = 5
    /// Segments, indexes and a broker that is down.
    private static let diskReserve = 1.3

    init(_ demand: CapacityDemand, _ costs: CapacityCosts) {
        let rate = demand.peakRecordsPerSecond
        func cores(_ microseconds: Double) -> Double { rate * microseconds / 1_000_000 }
        workerCores = costs.workerMicroseconds.mapValues(cores)
        copies = workerCores.mapValues { cores in
            max(Self.copiesMin, Int((cores / demand.utilization).rounded(.up)))
        }
        let largest = copies.values.max() ?? Self.copiesMin
        partitions = max(Self.partitionsMin, largest * 2)
        // A follower writes what the leader has written: counted as much, which is more than it is.
        brokerCores = cores(costs.brokerMicroseconds) * Double(demand.replication)
        let forCores = brokerCores / demand.utilization / demand.brokerCores
        brokers = max(demand.replication, Int(forCores.rounded(.up)))
        let held = demand.recordsPerDay * demand.retentionDays * demand.kafkaBytesPerRecord
        brokerDiskBytes =
            held * Double(demand.replication) * Self.diskReserve / Double(brokers)
        postgresCores = cores(costs.postgresMicroseconds)
        databaseBytesPerDay =
            demand.recordsPerDay * demand.newShare * demand.databaseBytesPerRecord
        walBytesPerDay = demand.recordsPerDay * costs.walBytes
        connections =
            copies.filter { $0.key != .verify }.values.reduce(0, +) * Self.connectionsPerCopy
    }
}
