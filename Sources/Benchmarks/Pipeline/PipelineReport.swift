import JSON
import Operations
import Topology
import Worker
import Settings

/// The result of `bench pipeline`, as tables and as JSON.
struct PipelineReport {
    private let measurements: [PipelineMeasurement]

    init(_ measurements: [PipelineMeasurement]) {
        self.measurements = measurements
    }

    private var goals: [Goal] {
        guard let first = measurements.first else { return [] }
        return costs(first) + delays(first)
            + measurements.dropFirst().compactMap { growth(from: first, to: $0) }
    }

    /// In verifications, so that they hold on any machine.
    private func costs(_ item: PipelineMeasurement) -> [Goal] {
        let residentMax = measurements.flatMap(\.residentBytesMax.values).max() ?? 0
        var goals = [
            Goal(
                name: "records/s × time of a verification",
                key: "throughput_in_verifications",
                value: item.recordsPerSecond * item.verificationMicroseconds / 1_000_000,
                bound: 0.48,
                isCeiling: false
            ),
            Goal(
                name: "CPU of the four workers, in verifications",
                key: "worker_verifications",
                value: item.verifications(item.allWorkersMicroseconds),
                bound: 2.2,
                isCeiling: true
            ),
        ]
        if let postgres = item.postgresMicroseconds {
            goals.append(
                Goal(
                    name: "CPU of PostgreSQL, in verifications",
                    key: "postgresql_verifications",
                    value: item.verifications(postgres),
                    bound: 1.3,
                    isCeiling: true
                )
            )
        }
        if let broker = item.brokerMicroseconds {
            goals.append(
                Goal(
                    name: "CPU of the broker, in verifications",
                    key: "broker_verifications",
                    value: item.verifications(broker),
                    bound: 0.6,
                    isCeiling: true
                )
            )
        }
        goals.append(
            Goal(
                name: "largest worker, MiB resident",
                key: "resident_mebibytes_max",
                value: Double(residentMax) / 1_048_576,
                bound: 48,
                isCeiling: true
            )
        )
        return goals
    }

    private func delays(_ item: PipelineMeasurement) -> [Goal] {
        var goals: [Goal] = []
        if let share = item.lockShares.values.max() {
            goals.append(
                Goal(
                    name: "waiting for locks, % of a stage's time in transactions",
                    key: "lock_percent_max",
                    value: share * 100,
                    bound: 5,
                    isCeiling: true
                )
            )
        }
        if let idle = item.latency?.idleShare {
            goals.append(
                Goal(
                    name: "idle at half load, %",
                    key: "idle_percent_at_half_load",
                    value: idle * 100,
                    bound: 30,
                    isCeiling: false
                )
            )
        }
        return goals
    }

    /// Nil where what differs is not held to a bound.
    private func growth(from first: PipelineMeasurement, to other: PipelineMeasurement) -> Goal? {
        let (before, after) = (first.setup, other.setup)
        if after.partitions != before.partitions {
            return growth(
                "workers' CPU, \(before.partitions) → \(after.partitions) partitions",
                "growth_at_\(after.partitions)_partitions",
                other.allWorkersMicroseconds / first.allWorkersMicroseconds
            )
        }
        if after.storedCount != before.storedCount {
            return growth(
                "workers' CPU, \(Quantity.grouped(before.storedCount)) → "
                    + "\(Quantity.grouped(after.storedCount)) stored facts",
                "growth_at_\(after.storedCount)_stored",
                other.allWorkersMicroseconds / first.allWorkersMicroseconds
            )
        }
        if after.payloadTimes != before.payloadTimes {
            return growth(
                "later stages' CPU, payload × \(after.payloadTimes)",
                "growth_at_\(after.payloadTimes)_times_the_payload",
                other.laterStagesMicroseconds / first.laterStagesMicroseconds
            )
        }
        return nil
    }

    private func growth(_ name: String, _ key: String, _ value: Double) -> Goal {
        Goal(name: "growth of the \(name)", key: key, value: value, bound: 1.2, isCeiling: true)
    }

    var lines: [String] {
        measurements.flatMap { table($0) + [""] } + Goal.table(goals)
    }

    private func table(_ item: PipelineMeasurement) -> [String] {
        var table = TextTable([
            .init("process"), .init("CPU µs/record", .right), .init("verifications", .right),
            .init("waits for locks", .right), .init("MiB resident", .right),
        ])
        func cost(_ name: String, _ microseconds: Double?, _ more: [String] = ["", ""]) {
            let time = microseconds ?? .nan
            table.add(
                [
                    name, FixedPoint.text(time, digits: 1),
                    FixedPoint.text(item.verifications(time), digits: 2),
                ] + more
            )
        }
        for stage in Topology.stages {
            let resident = item.residentBytesMax[stage].map { Double($0) / 1_048_576 }
            let waiting = item.lockShares[stage].map { FixedPoint.text($0 * 100, digits: 1) + " %" }
            cost(
                stage.program,
                item.workerMicroseconds[stage],
                [waiting ?? "", FixedPoint.text(resident ?? .nan, digits: 1)]
            )
        }
        cost("all workers", item.allWorkersMicroseconds)
        cost("broker", item.brokerMicroseconds)
        cost("PostgreSQL", item.postgresMicroseconds)
        let head =
            "\(item.setup.text): \(Quantity.grouped(Int(item.recordsPerSecond))) records/s; "
            + "a verification takes "
            + "\(FixedPoint.text(item.verificationMicroseconds, digits: 1)) µs, "
            + "the log of PostgreSQL \(Quantity.grouped(Int(item.walBytes))) bytes/record"
        return [head] + table.lines(indent: 2) + latencyLines(item)
    }

    private func latencyLines(_ item: PipelineMeasurement) -> [String] {
        guard let latency = item.latency else { return [] }
        return [
            "  from publishing to commit at \(Quantity.grouped(Int(latency.recordsPerSecond))) "
                + "records/s: p50 \(FixedPoint.text(latency.p50, digits: 1)) ms, "
                + "p99 \(FixedPoint.text(latency.p99, digits: 1)) ms"
        ] + hopLines(latency)
    }

    private func hopLines(_ latency: PipelineMeasurement.Latency) -> [String] {
        Topology.stages.compactMap { stage in
            guard let ages = latency.hops[stage], !ages.isEmpty else { return nil }
            let p50 = FixedPoint.text(ages[ages.count / 2], digits: 0)
            let p99 = FixedPoint.text(ages[ages.count * 99 / 100], digits: 0)
            return "    until \(stage.inputTopic) was written: p50 \(p50) ms, p99 \(p99) ms"
        }
    }

    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("benchmark")
        writer.string("pipeline")
        writer.key("measurements")
        writer.beginArray()
        for item in measurements {
            writer.beginObject()
            write(item, &writer)
            writer.endObject()
        }
        writer.endArray()
        Goal.write(goals, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ item: PipelineMeasurement, _ writer: inout JSONWriter) {
        writer.key("partitions")
        writer.int(item.setup.partitions)
        writer.key("stored_facts")
        writer.int(item.setup.storedCount)
        writer.key("payload_times")
        writer.int(item.setup.payloadTimes)
        writer.key("is_tuned")
        writer.bool(item.setup.isTuned)
        writer.key("records")
        writer.int(item.recordCount)
        writer.key("records_per_second")
        writer.double(item.recordsPerSecond.rounded())
        number("verification_microseconds", item.verificationMicroseconds, &writer)
        number("wal_bytes_per_record", item.walBytes, &writer)
        writer.key("lock_share")
        writer.beginObject()
        for stage in Topology.stages {
            number(stage.program, item.lockShares[stage], &writer)
        }
        writer.endObject()
        writer.key("cpu_microseconds_per_record")
        writer.beginObject()
        for stage in Topology.stages {
            number(stage.program, item.workerMicroseconds[stage], &writer)
        }
        number("broker", item.brokerMicroseconds, &writer)
        number("postgresql", item.postgresMicroseconds, &writer)
        writer.endObject()
        writer.key("resident_bytes_max")
        writer.beginObject()
        for stage in Topology.stages {
            number(stage.program, item.residentBytesMax[stage].map(Double.init), &writer)
        }
        writer.endObject()
        writer.key("latency_milliseconds")
        writer.beginObject()
        number("p50", item.latency?.p50, &writer)
        number("p99", item.latency?.p99, &writer)
        writer.endObject()
        number("idle_share_at_half_load", item.latency?.idleShare, &writer)
    }

    /// Null for what was not measured.
    private func number(_ key: String, _ value: Double?, _ writer: inout JSONWriter) {
        writer.key(key)
        if let value, value.isFinite {
            writer.double((value * 100).rounded() / 100)
        } else {
            writer.null()
        }
    }
}
