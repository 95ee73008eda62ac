import Commands
import JSON
import Operations
import Records
import Topology
import Worker

/// The result of `bench pipeline`, as tables and as JSON.
struct PipelineReport: BenchReport {
    let measurements: [PipelineMeasurement]

    var lines: [String] { measurements.flatMap { table($0) + [""] } }

    private func table(_ item: PipelineMeasurement) -> [String] {
        var table = TextTable([
            .init("process"), .init("CPU µs/record", .right), .init("verifications", .right),
            .init("at half load", .right), .init("idle ms/s", .right), .init("waits for locks", .right),
            .init("MiB resident", .right),
        ])
        func cost(_ name: String, _ more: [String] = ["", ""], _ microseconds: (CPUMicroseconds) -> Double?) {
            let time = microseconds(item.cpu) ?? .nan
            let atHalfLoad = item.latency.flatMap { microseconds($0.cpu) } ?? .nan
            table.add(
                [
                    name, FixedPoint.text(time, digits: 1), FixedPoint.text(item.verifications(time), digits: 2),
                    FixedPoint.text(item.verifications(atHalfLoad), digits: 2),
                    FixedPoint.text((microseconds(item.idle) ?? .nan) / 1_000, digits: 1),
                ] + more)
        }
        for stage in Topology.stages {
            let resident = item.residentBytesMax[stage].map { Double($0) / 1_048_576 }
            let waits = item.lockShares[stage].map { FixedPoint.text($0 * 100, digits: 1) + " %" }
            let more = [waits ?? "", FixedPoint.text(resident ?? .nan, digits: 1)]
            cost(stage.program, more) { $0.workers[stage] }
        }
        cost("all workers") { $0.allWorkers }
        cost("broker") { $0.broker }
        cost("PostgreSQL") { $0.postgres }
        cost("all of these") { $0.all }
        let head =
            "\(item.setup.text): \(Quantity.grouped(Int(item.recordsPerSecond))) records/s; "
            + (item.besideRecordsPerSecond.map {
                "\(FixedPoint.text(item.recordsPerSecond / $0, digits: 2)) of the program beside; "
            } ?? "") + "a verification takes \(FixedPoint.text(item.verificationMicroseconds, digits: 1)) µs, "
            + "the log of PostgreSQL \(Quantity.grouped(Int(item.walBytes))) bytes/record"
        return [head] + table.lines(indent: 2) + activityLines(item.activity) + latencyLines(item)
    }

    /// The parts of the time by what a worker did; what is left it waited for records.
    private func activityLines(_ activity: [StageDescription: WorkerActivity]) -> [String] {
        var table = TextTable(
            [.init("at full load")] + Self.activities.map { .init("\($0)", .right) } + [.init("records/batch", .right)])
        for stage in Topology.stages {
            guard let seconds = activity[stage] else { continue }
            let all = TimeAccount.Activity.allCases.reduce(0) { $0 + seconds[$1] }
            table.add(
                [stage.program] + Self.activities.map { FixedPoint.text(seconds[$0] / all * 100, digits: 0) + " %" } + [
                    FixedPoint.text(seconds.recordsPerBatch, digits: 0)
                ])
        }
        return table.lines(indent: 2)
    }

    private static let activities = TimeAccount.Activity.allCases.filter { $0 != .retry }

    private func latencyLines(_ item: PipelineMeasurement) -> [String] {
        guard let latency = item.latency else { return [] }
        return [line("from publishing a lone purchase to its outcome", latency.lone)]
            + Topology.stages.compactMap { stage in
                latency.loneHops[stage].map { line("  to the record that \(stage.program) reads", $0) }
            } + [
                line(
                    "from publishing to commit at \(Quantity.grouped(Int(latency.recordsPerSecond))) records/s",
                    latency.loaded)
            ]
    }

    private func line(_ name: String, _ latencies: Percentiles) -> String {
        "  \(name): p50 \(FixedPoint.text(latencies.p50, digits: 1)) ms, p99 \(FixedPoint.text(latencies.p99, digits: 1)) ms"
    }

    var json: JSONContent { ["benchmark": "pipeline", "measurements": measurements.map(json(of:))] }

    private func json(of item: PipelineMeasurement) -> JSONContent {
        let latency = item.latency
        let setup: JSONContent = [
            "partitions": item.setup.partitions, "copies": item.setup.copies, "records": item.recordCount,
        ]
        let atFullLoad: JSONContent = [
            "records_per_second": item.recordsPerSecond.rounded(),
            "beside_records_per_second": JSONContent.figure(item.besideRecordsPerSecond),
            "verification_microseconds": JSONContent.figure(item.verificationMicroseconds),
            "wal_bytes_per_record": JSONContent.figure(item.walBytes), "lock_share": perStage { item.lockShares[$0] },
            "seconds": json(item.activity), "cpu_microseconds_per_record": json(item.cpu),
            "cpu_microseconds_per_second_idle": json(item.idle),
            "resident_bytes_max": perStage { item.residentBytesMax[$0].map(Double.init) },
        ]
        let milliseconds: JSONContent = [
            "p50": JSONContent.figure(latency?.loaded.p50), "p99": JSONContent.figure(latency?.loaded.p99),
            "lone_p50": JSONContent.figure(latency?.lone.p50), "lone_p99": JSONContent.figure(latency?.lone.p99),
            "lone_hop_p50": perStage { latency?.loneHops[$0]?.p50 },
            "lone_hop_p99": perStage { latency?.loneHops[$0]?.p99 },
        ]
        return setup + atFullLoad + [
            "latency_milliseconds": milliseconds,
            "cpu_microseconds_per_record_at_half_load": json(latency?.cpu ?? CPUMicroseconds(workers: [:])),
        ]
    }

    private func perStage(_ figure: (StageDescription) -> Double?) -> JSONContent {
        .object(Topology.stages.map { ($0.program, .figure(figure($0))) })
    }

    private func json(_ cpu: CPUMicroseconds) -> JSONContent {
        perStage { cpu.workers[$0] } + [
            "broker": JSONContent.figure(cpu.broker), "postgresql": JSONContent.figure(cpu.postgres),
        ]
    }

    private func json(_ activity: [StageDescription: WorkerActivity]) -> JSONContent {
        .object(
            Topology.stages.compactMap { stage in
                guard let seconds = activity[stage] else { return nil }
                let figures = Self.activities.map { ("\($0)", JSONContent.figure(seconds[$0])) }
                let batch = ("records_per_batch", JSONContent.figure(seconds.recordsPerBatch))
                return (stage.program, .object(figures + [batch]))
            })
    }
}
