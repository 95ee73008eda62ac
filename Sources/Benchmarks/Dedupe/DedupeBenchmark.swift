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
            record(observations[index], topic)
        }
        try await rig.waitUntilSettled(by: .dedupe)

        let end = observations.count + options.recordCount
        console.note("measuring \(Quantity.grouped(options.recordCount)) duplicates")
        rig.signal(SIGSTOP, to: .dedupe)
        try await rig.publish(observations.count..<end, to: .dedupe) { index, topic in
            record(observations[index % observations.count], topic)
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
        let app = ConfiguredApp(
            bundleID: Identifier(BenchTransaction.bundleID),
            environment: .production,
            appAppleID: BenchTransaction.appAppleID,
            roots: [try Certificate(der: rig.authority.root)],
            hasTestRootInProduction: true
        )
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

    private func record(_ observation: Observation, _ topic: String) -> ProducerRecord {
        observation.record(for: topic)
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
        [
            Goal(
                name: "duplicates/s",
                key: "records_per_second",
                value: recordsPerSecond,
                bound: 30_000,
                isCeiling: false
            ),
            Goal(
                name: "worker, MiB resident",
                key: "resident_mebibytes_max",
                value: Double(residentBytesMax) / 1_048_576,
                bound: 64,
                isCeiling: true
            ),
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
