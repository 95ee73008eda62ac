import Foundation
import JSON
import Records
import Simulation
import Topology
import Worker

/// A copy of a worker on a rig.
struct RigWorker: Sendable {
    let process: ChildProcess
    private let log: String

    /// Starts the copies of each stage's worker, with logs of their own.
    static func start(copies: Int, arguments: [String], logs: URL) throws -> [StageDescription: [RigWorker]] {
        let executables = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        // Properties of librdkafka and bounds on batches are passed to the workers, so that they
        // can be tuned by measuring.
        let properties = ProcessInfo.processInfo.environment.filter { name, _ in
            name.hasPrefix("RDKAFKA_") || name.hasPrefix("BATCH_")
        }
        let environment = properties.merging(["PATH": "/usr/bin:/bin", "HTTP_PORT": "0"]) { $1 }
        var workers: [StageDescription: [RigWorker]] = [:]
        for stage in Topology.stages {
            workers[stage] = try (0..<copies).map { copy in
                let log = logs.appending(path: "\(stage.program)-\(copy).log").path
                let process = try ChildProcess(
                    executable: executables.appending(path: stage.program).path, arguments: arguments,
                    environment: environment, standardOutput: .file(path: log), standardError: .file(path: log))
                return RigWorker(process: process, log: log)
            }
        }
        return workers
    }

    var endOfLog: String { String(text.suffix(2_000)) }

    /// The worker's metrics.
    ///
    /// `nil` while it starts or does not answer.
    func metrics() -> WorkerMetricsPage? {
        let request = "GET /metrics HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n"
        return port.flatMap { try? RawClient.exchange(request, port: $0) }.flatMap {
            $0.isEmpty ? nil : WorkerMetricsPage($0)
        }
    }

    /// The worker has chosen it, and says so in its log.
    private var port: UInt16? {
        let line = text.split(separator: "\n").last { $0.contains("\"worker started\"") }
        guard let line, let event = try? JSONDocument(parsing: Array(line.utf8)).root else { return nil }
        return event["http.port"]?.int64.flatMap { UInt16(exactly: $0) }
    }

    private var text: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
}

/// The activity of a worker so far: seconds by kind, and batches.
struct WorkerActivity {
    private(set) var seconds: [TimeAccount.Activity: Double] = [:]
    var batches = 0.0
    var records = 0.0

    var recordsPerBatch: Double { records / batches }

    /// Seconds in which a batch was processed or waited for the database.
    var processing: Double { self[.process] + self[.database] }

    subscript(activity: TimeAccount.Activity) -> Double {
        get { seconds[activity] ?? 0 }
        set { seconds[activity] = newValue }
    }

    static func += (sum: inout WorkerActivity, other: WorkerActivity) {
        sum.seconds.merge(other.seconds, uniquingKeysWith: +)
        sum.batches += other.batches
        sum.records += other.records
    }

    /// The activity of each stage's workers from `before` to `after`.
    static func difference(_ after: [StageDescription: WorkerActivity], _ before: [StageDescription: WorkerActivity])
        -> [StageDescription: WorkerActivity]
    {
        after.reduce(into: [:]) { result, element in
            result[element.key] = element.value.since(before[element.key] ?? WorkerActivity())
        }
    }

    private func since(_ before: WorkerActivity) -> WorkerActivity {
        var difference = WorkerActivity()
        for activity in TimeAccount.Activity.allCases { difference[activity] = self[activity] - before[activity] }
        difference.batches = batches - before.batches
        difference.records = records - before.records
        return difference
    }
}

/// The samples of a worker's metrics that a measurement uses.
struct WorkerMetricsPage {
    private let lines: [Substring]

    init(_ text: String) { lines = text.split(separator: "\n") }

    var assignedPartitions: Int { value("entitlements_assigned_partitions").map { Int($0) } ?? 0 }

    var activity: WorkerActivity {
        var sum = WorkerActivity()
        for activity in TimeAccount.Activity.allCases {
            let label = "activity=\"\(activity)\""
            sum[activity] = value("entitlements_time_seconds_total", label) ?? 0
        }
        sum.batches = value("entitlements_batch_records_count") ?? 0
        sum.records = value("entitlements_batch_records_sum") ?? 0
        return sum
    }

    /// The value of the one series with this label; all series of a worker share further labels.
    private func value(_ name: String, _ label: String = "") -> Double? {
        let line = lines.first { $0.hasPrefix(name + "{") && (label.isEmpty || $0.contains(label)) }
        return line?.split(separator: " ").last.flatMap { Double($0) }
    }
}
