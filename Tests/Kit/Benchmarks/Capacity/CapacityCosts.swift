import JSON
import Records
import Topology

/// The costs of one raw record on a machine, as measured by `bench pipeline --json`.
struct CapacityCosts: Sendable {
    /// Processor time of each stage's workers, in microseconds.
    var workerMicroseconds: [StageDescription: Double]
    var brokerMicroseconds: Double
    var postgresMicroseconds: Double
    /// Bytes of PostgreSQL's write-ahead log.
    var walBytes: Double
}

extension CapacityCosts {
    /// Reads the first measurement of a report; nil if it lacks a cost, such as the broker's,
    /// which is measured with `--broker-pid`.
    init?(report: [UInt8]) {
        guard let root = try? JSONDocument(parsing: report).root,
            let first = root["measurements"]?.elements.first(where: { _ in true }),
            let cpu = first["cpu_microseconds_per_record"],
            let broker = cpu["broker"]?.number, let postgres = cpu["postgresql"]?.number,
            let wal = first["wal_bytes_per_record"]?.number
        else { return nil }
        var workers: [StageDescription: Double] = [:]
        for stage in Topology.stages {
            guard let cost = cpu[stage.program]?.number, cost > 0 else { return nil }
            workers[stage] = cost
        }
        self.init(
            workerMicroseconds: workers,
            brokerMicroseconds: broker,
            postgresMicroseconds: postgres,
            walBytes: wal
        )
    }
}

extension JSONValue {
    /// The number in any JSON form; nil if it is no number or below zero.
    fileprivate var number: Double? {
        let value = int64.map(Double.init) ?? double
        return value.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
}
