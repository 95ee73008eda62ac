import Foundation
import Records
import Topology

/// The result of one run of `bench pipeline`.
struct PipelineMeasurement {
    let setup: PipelineOptions.Setup
    let recordCount: Int
    let recordsPerSecond: Double
    /// Processor time of one P-256 verification of OpenSSL, in the same run.
    let verificationMicroseconds: Double
    /// Processor time that a record adds: the slope between two numbers of records.
    let cpu: CPUMicroseconds
    /// Processor time per second without records.
    let idle: CPUMicroseconds
    /// Bytes of PostgreSQL's write-ahead log per record.
    let walBytes: Double
    /// The activity of the stages' workers during the run, all copies together.
    let activity: [StageDescription: WorkerActivity]
    /// The share of a stage's processing and database time in which its sessions wait for others'
    /// transactions.
    let lockShares: [StageDescription: Double]
    /// The most that was ever resident, in bytes.
    let residentBytesMax: [StageDescription: Int]
    let latency: Latency?
    /// The rate of `BesideProgram` on the same records.
    ///
    /// `nil` without one.
    let besideRecordsPerSecond: Double?

    /// Times from publishing to commit, in milliseconds.
    struct Latency {
        let recordsPerSecond: Double
        let loaded: Percentiles
        /// Times of purchases that came one at a time, from publishing to reading the outcome.
        let lone: Percentiles
        /// Times of these purchases from publishing to the record that a stage reads, by that stage.
        let loneHops: [StageDescription: Percentiles]
        /// Processor time per record.
        let cpu: CPUMicroseconds
    }

    /// A time as a number of verifications.
    func verifications(_ microseconds: Double) -> Double { microseconds / verificationMicroseconds }
}

/// Percentiles of some values; NaN without any value.
struct Percentiles {
    let p50: Double
    let p99: Double

    init(of values: [Double]) {
        let sorted = values.sorted()
        func percentile(_ percent: Int) -> Double { sorted.isEmpty ? .nan : sorted[sorted.count * percent / 100] }
        (p50, p99) = (percentile(50), percentile(99))
    }
}

/// Microseconds of processor time of the workers, all copies of a stage together, and of the servers.
struct CPUMicroseconds {
    var workers: [StageDescription: Double]
    var broker: Double?
    var postgres: Double?

    var allWorkers: Double { workers.values.reduce(0, +) }

    var all: Double { allWorkers + (broker ?? 0) + (postgres ?? 0) }

    /// The usage beyond `share` times another one, divided by a number of records or seconds.
    func beyond(_ other: CPUMicroseconds, times share: Double = 1, per count: Double) -> CPUMicroseconds {
        func difference(_ own: Double?, _ other: Double?) -> Double? {
            guard let own, let other else { return nil }
            return (own - other * share) / count
        }
        return CPUMicroseconds(
            workers: workers.reduce(into: [:]) { $0[$1.key] = difference($1.value, other.workers[$1.key]) },
            broker: difference(broker, other.broker), postgres: difference(postgres, other.postgres))
    }
}

/// The resources that processes have used, read from `/proc`.
enum ProcessUsage {
    private static let microsecondsPerTick = 1_000_000 / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

    /// Processor time of one process, in microseconds.
    ///
    /// `nil` when there is no such process.
    static func cpuMicroseconds(_ processID: Int32) -> Double? {
        fields(processID).map { ticks($0, [11, 12]) * microsecondsPerTick }
    }

    /// Processor time of a process, its running children and those it has reaped.
    static func treeMicroseconds(_ processID: Int32) -> Double? {
        guard let own = fields(processID) else { return nil }
        let children = processIDs().compactMap(fields).filter { $0[1] == String(processID) }
        let childTicks = children.reduce(0) { $0 + ticks($1, [11, 12]) }
        return (ticks(own, [11, 12, 13, 14]) + childTicks) * microsecondsPerTick
    }

    /// The most memory that was ever resident, in bytes.
    ///
    /// `nil` when there is no such process.
    static func residentBytesMax(_ processID: Int32) -> Int? {
        guard let text = read("/proc/\(processID)/status") else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1_024 }
        }
        return nil
    }

    /// The fields of `stat` behind the name: state, parent, and so on (proc(5)).
    private static func fields(_ processID: Int32) -> [Substring]? {
        guard let text = read("/proc/\(processID)/stat"), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 14 ? fields : nil
    }

    private static func ticks(_ fields: [Substring], _ positions: [Int]) -> Double {
        positions.reduce(0) { $0 + (Double(fields[$1]) ?? 0) }
    }

    private static func processIDs() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
