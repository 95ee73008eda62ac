import AppStore
import Foundation
import JSON
import Kafka
import OpenSSL
import Operations
import Records
import Settings
import Simulation
import Topology

/// One run of `bench dedupe` on its rig.
struct DedupeBenchmark {
    let rig: PipelineRig
    let options: DedupeOptions
    let console: Console

    func run() async throws -> DedupeMeasurement {
        let observations = try observations()
        console.note("remembering \(Quantity.grouped(observations.count)) records")
        try await rig.publish(observations.indices, to: .dedupe) { index, topic in
            observations[index].record(for: topic)
        }
        try await rig.waitUntilSettled(by: .dedupe)

        let end = observations.count + options.recordCount
        console.note("measuring \(Quantity.grouped(options.recordCount)) duplicates")
        rig.signal(SIGSTOP, to: .dedupe)
        try await rig.publish(observations.count..<end, to: .dedupe) { index, topic in
            observations[index % observations.count].record(for: topic)
        }
        let before = usage()
        let start = ContinuousClock.now
        rig.signal(SIGCONT, to: .dedupe)
        try await rig.waitUntilSettled(by: .dedupe)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = usage()
        let count = Double(options.recordCount)
        return DedupeMeasurement(
            recordCount: options.recordCount,
            recordBytes: observations.reduce(0) { $0 + $1.encoded().valueBytes }
                / observations.count,
            recordsPerSecond: count / seconds,
            workerMicroseconds: (after.worker - before.worker) / count,
            postgresMicroseconds: (after.postgres - before.postgres) / count,
            residentBytesMax: rig.residentBytesMax[.dedupe] ?? 0
        )
    }

    private func usage() -> (worker: Double, postgres: Double) {
        (
            rig.cpuMicroseconds[.dedupe] ?? .nan,
            rig.postmaster.flatMap(ProcessUsage.treeMicroseconds) ?? .nan
        )
    }

    /// The observations that `verify-worker` makes of the transactions of all measurements.
    private func observations() throws -> [Observation] {
        let app = try ConfiguredApp(trusting: rig.authority)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        return try (0..<options.distinctCount).map { index in
            let body = try rig.authority.sign(BenchTransaction.payload(index))
            guard case .success(.items(let items)) = verifier.verify(body), let item = items.first
            else { throw BenchError("a record of the measurement is refused") }
            let source = ObservationSource(
                RecordPosition(
                    topic: rig.layout.prefix + Topic.raw,
                    partition: 0,
                    offset: Int64(index)
                )
            )
            return try Observation(item, source: source)
        }
    }
}

/// The result of one run of `bench dedupe`.
struct DedupeMeasurement: BenchReport {
    let recordCount: Int
    /// Size of one observation.
    let recordBytes: Int
    let recordsPerSecond: Double
    /// Processor time per record, in microseconds.
    let workerMicroseconds: Double
    let postgresMicroseconds: Double
    /// The most that was ever resident, in bytes.
    let residentBytesMax: Int

    var goals: [Goal] {
        let mebibytes = Double(residentBytesMax) / 1_048_576
        return [
            Goal("duplicates/s", "records_per_second", recordsPerSecond, atLeast: 30_000),
            Goal("worker, MiB resident", "resident_mebibytes_max", mebibytes, atMost: 64),
        ]
    }

    var lines: [String] {
        let head =
            "\(Quantity.grouped(recordCount)) duplicates of "
            + "\(Quantity.grouped(recordBytes)) bytes: dedupe-worker "
            + "\(FixedPoint.text(workerMicroseconds, digits: 1)), "
            + "PostgreSQL \(FixedPoint.text(postgresMicroseconds, digits: 1)) µs of CPU a record"
        return [head, ""] + Goal.table(goals)
    }

    var json: JSONContent {
        let cpu: JSONContent = [
            "dedupe-worker": JSONContent.figure(workerMicroseconds),
            "postgresql": JSONContent.figure(postgresMicroseconds),
        ]
        return [
            "benchmark": "dedupe", "records": recordCount, "record_bytes": recordBytes,
            "cpu_microseconds_per_record": cpu,
        ] + Goal.json(goals)
    }
}
