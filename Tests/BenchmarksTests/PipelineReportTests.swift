import JSON
import Records
import Settings
import TestSupport
import Testing
import Topology

@testable import Benchmarks
import Worker

/// The figures of `bench pipeline`.
@Suite struct PipelineReportTests {
    private static func setups(_ arguments: String...) throws -> [PipelineOptions.Setup] {
        let parsed = try PipelineOptions.syntax.parse(["--kafka=broker:9092"] + arguments)
        return try PipelineOptions(parsed).setups
    }

    private static func measurement(_ setup: PipelineOptions.Setup, workers: Double = 50) -> PipelineMeasurement {
        var activity = WorkerActivity()
        activity[.process] = 3
        activity[.database] = 1
        activity[.poll] = 4
        activity.batches = 10
        activity.records = 1_000
        return PipelineMeasurement(
            setup: setup, recordCount: 1_000, recordsPerSecond: 5_000, verificationMicroseconds: 100, cpu: cpu(workers),
            idle: cpu(6_000), walBytes: 3_000, activity: [.link: activity], lockShares: [.link: 0.04, .verify: 0],
            residentBytesMax: [.verify: 40 << 20, .link: 50 << 20],
            latency: PipelineMeasurement.Latency(
                recordsPerSecond: 2_500, loaded: Percentiles(of: [50, 50, 250]), lone: Percentiles(of: [15, 60, 15]),
                loneHops: [.link: Percentiles(of: [9, 4, 3])], cpu: cpu(2 * workers)), besideRecordsPerSecond: 3_125)
    }

    private static func cpu(_ workers: Double) -> CPUMicroseconds {
        CPUMicroseconds(
            workers: Dictionary(uniqueKeysWithValues: Topology.stages.map { ($0, workers) }), broker: 70, postgres: 120)
    }

    @Test func `copies go with each number of partitions`() throws {
        let setups = try Self.setups("--partitions=4,16", "--copies=1,3")
        let counts = setups.map { [$0.partitions, $0.copies] }
        #expect(counts == [[4, 1], [4, 3], [16, 1], [16, 3]])
        #expect(throws: (any Error).self) { try Self.setups("--copies=0") }
    }

    @Test func `the report shows costs, waits and latencies`() throws {
        let setups = try Self.setups("--partitions=4,64")
        let report = PipelineReport(measurements: setups.map { Self.measurement($0) })
        PublishedSchema.expect("bench", ["pipeline", "--json"], report.json.bytes)
        let root = try JSONDocument(parsing: report.json.bytes).root
        let first = try #require(root["measurements"]?.elements.first { _ in true })
        #expect(first["lock_share"]?["link-worker"]?.double == 0.04)
        #expect(first["seconds"]?["link-worker"]?["database"]?.double == 1)
        #expect(first["seconds"]?["link-worker"]?["records_per_batch"]?.double == 100)
        #expect(first["beside_records_per_second"]?.double == 3_125)
        let half = try #require(first["cpu_microseconds_per_record_at_half_load"])
        #expect(half["link-worker"]?.double == 100)
        #expect(first["cpu_microseconds_per_second_idle"]?["link-worker"]?.double == 6_000)
        #expect(first["latency_milliseconds"]?["lone_hop_p99"]?["link-worker"]?.double == 9)
        for part in [
            "1.60 of the program beside", "38 %", "records/batch", " 4.0 %", " 6.0 ", "p99 60.0",
            "link-worker reads: p50 4.0 ms, p99 9.0 ms",
        ] { #expect(report.lines.contains { $0.contains(part) }, "\(part)") }
    }

    @Test func `the slope leaves out what is paid once, and what idle time costs`() {
        // 500 µs once, 3 µs a second and 2 µs a record.
        func cost(records: Double, seconds: Double) -> CPUMicroseconds {
            CPUMicroseconds(workers: [.link: 500 + 3 * seconds + 2 * records], broker: nil, postgres: 0)
        }
        let (few, many) = (cost(records: 250, seconds: 4), cost(records: 1_000, seconds: 10))
        let idle = CPUMicroseconds(workers: [.link: 3], broker: nil, postgres: 0)
        let slope = many.beyond(few, per: 1).beyond(idle, times: 6, per: 750)
        #expect(slope.workers == [.link: 2])
        #expect(slope.broker == nil)
    }

    @Test func `a worker's account of its time is read from its metrics`() {
        let page = WorkerMetricsPage(
            """
            # TYPE entitlements_time_seconds_total counter
            entitlements_time_seconds_total{stage="link",activity="process"} 1.5
            entitlements_time_seconds_total{stage="link",activity="database"} 0.25
            entitlements_assigned_partitions{stage="link"} 4
            entitlements_batch_records_bucket{stage="link",le="10"} 2
            entitlements_batch_records_sum{stage="link"} 60
            entitlements_batch_records_count{stage="link"} 3
            """)
        #expect(page.assignedPartitions == 4)
        #expect(page.activity.processing == 1.75)
        #expect(page.activity[.poll] == 0)
        #expect(page.activity.recordsPerBatch == 20)
    }

    @Test func `of two builds, further measurements are compared too`() throws {
        let report = """
            {"measurements":[{"records":5,"cpu":{"broker":2}},{"records":7}]}
            """
        let figures = CompareCommand.figures(of: try JSONDocument(parsing: Array(report.utf8)).root)
        #expect(figures == ["records": 5, "cpu.broker": 2, "2.records": 7])
    }
}
