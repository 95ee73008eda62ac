import JSON
import Operations
import Topology
import Worker
import Settings

/// The result of `bench pipeline`, as tables and as JSON.
struct PipelineReport {
    private let measurements: [PipelineMeasurement]
    private let goals: [Goal]

    /// - Parameter verifier: the verifier alone, measured in the same run.
    init(_ measurements: [PipelineMeasurement], verifier: Goal) {
        self.measurements = measurements
        goals = PipelineGoals(measurements).all + [verifier]
    }

    var lines: [String] {
        measurements.flatMap { table($0) + [""] } + Goal.table(goals)
    }

    private func table(_ item: PipelineMeasurement) -> [String] {
        var table = TextTable([
            .init("process"), .init("CPU µs/record", .right), .init("verifications", .right),
            .init("at half load", .right), .init("waits for locks", .right),
            .init("for pages", .right), .init("MiB resident", .right),
        ])
        func cost(
            _ name: String,
            _ more: [String] = ["", "", ""],
            _ microseconds: (CPUMicroseconds) -> Double?
        ) {
            let time = microseconds(item.cpu) ?? .nan
            let atHalfLoad = item.latency.flatMap { microseconds($0.cpu) } ?? .nan
            table.add(
                [
                    name, FixedPoint.text(time, digits: 1),
                    FixedPoint.text(item.verifications(time), digits: 2),
                    FixedPoint.text(item.verifications(atHalfLoad), digits: 2),
                ] + more
            )
        }
        for stage in Topology.stages {
            let resident = item.residentBytesMax[stage].map { Double($0) / 1_048_576 }
            let waits = [item.lockShares, item.growthShares].map { shares in
                shares[stage].map { FixedPoint.text($0 * 100, digits: 1) + " %" } ?? ""
            }
            cost(
                stage.program,
                waits + [FixedPoint.text(resident ?? .nan, digits: 1)]
            ) { $0.workers[stage] }
        }
        cost("all workers") { $0.allWorkers }
        cost("broker") { $0.broker }
        cost("PostgreSQL") { $0.postgres }
        cost("all of these") { $0.all }
        let head =
            "\(item.setup.text): \(Quantity.grouped(Int(item.recordsPerSecond))) records/s; "
            + "a verification takes "
            + "\(FixedPoint.text(item.verificationMicroseconds, digits: 1)) µs, "
            + "the log of PostgreSQL \(Quantity.grouped(Int(item.walBytes))) bytes/record, "
            + "rows scanned \(FixedPoint.text(item.scannedRows, digits: 1))/record"
        return [head] + table.lines(indent: 2) + activityLines(item.activity, "at full load")
            + latencyLines(item)
    }

    /// The parts of the time by what a worker did; what is left it waited for records.
    private func activityLines(
        _ activity: [StageDescription: WorkerActivity],
        _ load: String
    ) -> [String] {
        var table = TextTable(
            [.init(load)] + Self.activities.map { .init("\($0)", .right) }
                + [.init("records/batch", .right)]
        )
        for stage in Topology.stages {
            guard let seconds = activity[stage] else { continue }
            let all = TimeAccount.Activity.allCases.reduce(0) { $0 + seconds[$1] }
            table.add(
                [stage.program]
                    + Self.activities.map {
                        FixedPoint.text(seconds[$0] / all * 100, digits: 0) + " %"
                    } + [FixedPoint.text(seconds.recordsPerBatch, digits: 0)]
            )
        }
        return table.lines(indent: 2)
    }

    private static let activities = TimeAccount.Activity.allCases.filter { $0 != .retry }

    private func latencyLines(_ item: PipelineMeasurement) -> [String] {
        guard let latency = item.latency else { return [] }
        return [
            "  from publishing a lone purchase to its outcome: "
                + "p50 \(FixedPoint.text(latency.lonePercentile(50), digits: 1)) ms, "
                + "p99 \(FixedPoint.text(latency.lonePercentile(99), digits: 1)) ms"
        ] + hopLines(latency.loneHops) + [
            "  from publishing to commit at \(Quantity.grouped(Int(latency.recordsPerSecond))) "
                + "records/s: p50 \(FixedPoint.text(latency.p50, digits: 1)) ms, "
                + "p99 \(FixedPoint.text(latency.p99, digits: 1)) ms; on idle servers "
                + "\(FixedPoint.text(latency.idleMilliseconds, digits: 1)) ms"
        ] + hopLines(latency.hops) + activityLines(latency.activity, "at half load")
    }

    private func hopLines(_ hops: [StageDescription: [Double]]) -> [String] {
        Topology.stages.compactMap { stage in
            guard let ages = hops[stage], !ages.isEmpty else { return nil }
            let percentiles = [50, 99].map { percent in
                let age = PipelineMeasurement.percentile(percent, of: ages) ?? .nan
                return "p\(percent) \(FixedPoint.text(age, digits: 0)) ms"
            }
            return "    until \(stage.inputTopic) was written: "
                + percentiles.joined(separator: ", ")
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
        writer.key("copies")
        writer.int(item.setup.copies)
        writer.key("stored_facts")
        writer.int(item.setup.storedCount)
        writer.key("payload_times")
        writer.int(item.setup.payloadTimes)
        writer.key("is_tuned")
        writer.bool(item.setup.isTuned)
        writer.key("has_jit")
        writer.bool(!item.setup.hasNoJIT)
        writer.key("records")
        writer.int(item.recordCount)
        writer.key("records_per_second")
        writer.double(item.recordsPerSecond.rounded())
        number("verification_microseconds", item.verificationMicroseconds, &writer)
        number("wal_bytes_per_record", item.walBytes, &writer)
        number("rows_scanned_per_record", item.scannedRows, &writer)
        for (name, shares) in [
            ("lock_share", item.lockShares), ("growth_share", item.growthShares),
        ] {
            writer.key(name)
            writer.beginObject()
            for stage in Topology.stages {
                number(stage.program, shares[stage], &writer)
            }
            writer.endObject()
        }
        writer.key("seconds")
        write(item.activity, &writer)
        writer.key("cpu_microseconds_per_record")
        write(item.cpu, &writer)
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
        number("lone_p50", item.latency?.lonePercentile(50), &writer)
        number("lone_p99", item.latency?.lonePercentile(99), &writer)
        number("idle_servers", item.latency?.idleMilliseconds, &writer)
        writer.endObject()
        writer.key("cpu_microseconds_per_record_at_half_load")
        write(item.latency?.cpu ?? CPUMicroseconds(workers: [:]), &writer)
        writer.key("seconds_at_half_load")
        write(item.latency?.activity ?? [:], &writer)
        number("idle_share_at_half_load", item.latency?.idleShare, &writer)
    }

    private func write(_ cpu: CPUMicroseconds, _ writer: inout JSONWriter) {
        writer.beginObject()
        for stage in Topology.stages {
            number(stage.program, cpu.workers[stage], &writer)
        }
        number("broker", cpu.broker, &writer)
        number("postgresql", cpu.postgres, &writer)
        writer.endObject()
    }

    private func write(
        _ activity: [StageDescription: WorkerActivity],
        _ writer: inout JSONWriter
    ) {
        writer.beginObject()
        for stage in Topology.stages {
            guard let seconds = activity[stage] else { continue }
            writer.key(stage.program)
            writer.beginObject()
            for activity in Self.activities {
                number("\(activity)", seconds[activity], &writer)
            }
            number("records_per_batch", seconds.recordsPerBatch, &writer)
            writer.endObject()
        }
        writer.endObject()
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
