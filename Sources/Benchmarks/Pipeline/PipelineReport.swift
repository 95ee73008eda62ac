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
        let residentMax = measurements.flatMap(\.residentBytesMax.values).max() ?? 0
        var goals = [
            Goal(
                name: "records/s from raw to committed rows",
                key: "records_per_second",
                value: first.recordsPerSecond,
                bound: 4_000,
                isCeiling: false
            ),
            Goal(
                name: "CPU of the four workers, µs/record",
                key: "worker_microseconds",
                value: first.allWorkersMicroseconds,
                bound: 250,
                isCeiling: true
            ),
            Goal(
                name: "largest worker, MiB resident",
                key: "resident_mebibytes_max",
                value: Double(residentMax) / 1_048_576,
                bound: 64,
                isCeiling: true
            ),
        ]
        for other in measurements.dropFirst() {
            goals.append(growth(from: first, to: other))
        }
        return goals
    }

    private func growth(from first: PipelineMeasurement, to other: PipelineMeasurement) -> Goal {
        let isPartitions = other.setup.partitions != first.setup.partitions
        let name =
            isPartitions
            ? "\(first.setup.partitions) → \(other.setup.partitions) partitions"
            : "\(Quantity.grouped(first.setup.storedCount)) → "
                + "\(Quantity.grouped(other.setup.storedCount)) stored facts"
        let key =
            isPartitions
            ? "growth_at_\(other.setup.partitions)_partitions"
            : "growth_at_\(other.setup.storedCount)_stored"
        return Goal(
            name: "growth of the workers' CPU, \(name)",
            key: key,
            value: other.allWorkersMicroseconds / first.allWorkersMicroseconds,
            bound: 1.3,
            isCeiling: true
        )
    }

    var lines: [String] {
        measurements.flatMap { table($0) + [""] } + Goal.table(goals)
    }

    private func table(_ item: PipelineMeasurement) -> [String] {
        var table = TextTable([
            .init("process"), .init("CPU µs/record", .right), .init("MiB resident", .right),
        ])
        for stage in Topology.stages {
            table.add([
                stage.program,
                FixedPoint.text(item.workerMicroseconds[stage] ?? .nan, digits: 1),
                FixedPoint.text(
                    item.residentBytesMax[stage].map { Double($0) / 1_048_576 } ?? .nan,
                    digits: 1
                ),
            ])
        }
        table.add([
            "all workers", FixedPoint.text(item.allWorkersMicroseconds, digits: 1), "",
        ])
        table.add(["broker", FixedPoint.text(item.brokerMicroseconds ?? .nan, digits: 1), ""])
        table.add(["PostgreSQL", FixedPoint.text(item.postgresMicroseconds ?? .nan, digits: 1), ""])
        let head =
            "\(item.setup.partitions) partitions, "
            + "\(Quantity.grouped(item.setup.storedCount)) stored facts: "
            + "\(Quantity.grouped(Int(item.recordsPerSecond))) records/s"
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
        writer.key("records")
        writer.int(item.recordCount)
        writer.key("records_per_second")
        writer.double(item.recordsPerSecond.rounded())
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
