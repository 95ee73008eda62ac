import Foundation
import Kafka
import Operations
import Platform
import Postgres
import Records
import Simulation
import Topology

/// Another program that does the whole work by itself, measured on the records of a run.
///
/// It reads `KAFKA_BOOTSTRAP`, `RAW_TOPIC`, `KAFKA_GROUP`, `DATABASE_URL`, `ROOT_FILE` and
/// `BUNDLE_ID`, and commits the offsets of what it has written.
struct BesideProgram {
    let path: String

    private static let group = "beside"

    /// Records per second of the measured records, while the workers stand still.
    func recordsPerSecond(_ rig: PipelineRig, _ options: PipelineOptions) async throws -> Double {
        let own = [
            "KAFKA_BOOTSTRAP": options.kafka, "RAW_TOPIC": rig.layout.prefix + StageDescription.verify.inputTopic,
            "KAFKA_GROUP": rig.layout.prefix + Self.group, "DATABASE_URL": rig.database.connectionString,
            "ROOT_FILE": rig.rootFile.path, "BUNDLE_ID": BenchTransaction.bundleID,
        ]
        let process = try ChildProcess(
            executable: path, environment: ProcessInfo.processInfo.environment.merging(own) { $1 },
            standardOutput: .inherited, standardError: .inherited)
        for stage in Topology.stages { rig.signal(SIGSTOP, to: stage) }
        let seconds = try await closing {
            _ = try? await process.stop(grace: .seconds(10))
            for stage in Topology.stages { rig.signal(SIGCONT, to: stage) }
        } after: {
            try await measure(process, rig, options)
        }
        return Double(options.recordCount) / seconds
    }

    /// The records before the measured ones warm it up, as they did the workers.
    private func measure(_ process: ChildProcess, _ rig: PipelineRig, _ options: PipelineOptions) async throws -> Double
    {
        try await KafkaAdmin.lend(rig.kafka) { admin in
            func wait(_ count: Int) async throws {
                try await rig.waitUntilCommitted(
                    Int64(count), of: .verify, by: rig.layout.prefix + Self.group, asking: admin,
                    check: { try requireRunning(process) })
            }
            try await wait(options.measured.lowerBound)
            let start = ContinuousClock.now
            try await wait(options.measured.upperBound)
            return (ContinuousClock.now - start) / .seconds(1)
        }
    }

    /// Fails when the program has ended.
    func requireRunning(_ process: ChildProcess) throws {
        if let end = process.end { throw BenchError("\(path) has ended (\(end))") }
    }
}
