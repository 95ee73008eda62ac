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
    /// Processor time per record.
    let cpu: CPUMicroseconds
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
        let p50: Double
        let p99: Double
        /// The same of purchases that came one at a time, to reading the outcome; sorted.
        let lone: [Double]
        /// The idle share of all cores' time while records were published.
        ///
        /// `nil` if unknown.
        let idleShare: Double?
        /// Processor time per record.
        let cpu: CPUMicroseconds
        /// The activity of the stages' workers while records were published.
        let activity: [StageDescription: WorkerActivity]

        /// A percentile of `lone`.
        func lonePercentile(_ percent: Int) -> Double { percentile(percent, of: lone) ?? .nan }
    }

    /// A percentile of sorted values.
    ///
    /// `nil` without any.
    static func percentile(_ percent: Int, of sorted: [Double]) -> Double? {
        sorted.isEmpty ? nil : sorted[min(sorted.count - 1, sorted.count * percent / 100)]
    }

    /// A time as a number of verifications.
    func verifications(_ microseconds: Double) -> Double { microseconds / verificationMicroseconds }
}

/// Processor time of the workers, all copies of a stage together, and of broker and PostgreSQL
/// where they are known; in microseconds.
struct CPUMicroseconds {
    var workers: [StageDescription: Double]
    var broker: Double?
    var postgres: Double?

    var allWorkers: Double { workers.values.reduce(0, +) }

    var all: Double { allWorkers + (broker ?? 0) + (postgres ?? 0) }

    /// The usage since `before`, divided by the number of records.
    func since(_ before: CPUMicroseconds, records: Int) -> CPUMicroseconds {
        func perRecord(_ after: Double?, _ before: Double?) -> Double? {
            guard let after, let before else { return nil }
            return (after - before) / Double(records)
        }
        return CPUMicroseconds(
            workers: workers.reduce(into: [:]) { result, element in
                result[element.key] = perRecord(element.value, before.workers[element.key])
            }, broker: perRecord(broker, before.broker), postgres: perRecord(postgres, before.postgres))
    }
}

/// Usage of the machine's cores, read from `/proc/stat`.
enum MachineUsage {
    struct Ticks {
        let idle: Double
        let all: Double
    }

    static func read() -> Ticks? {
        guard let bytes = FileManager.default.contents(atPath: "/proc/stat"),
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first
        else { return nil }
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard ticks.count == 8 else { return nil }
        return Ticks(idle: ticks[3] + ticks[4], all: ticks.reduce(0, +))
    }

    static func idleShare(from start: Ticks?, to end: Ticks?) -> Double? {
        guard let start, let end, end.all > start.all else { return nil }
        return (end.idle - start.idle) / (end.all - start.all)
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
