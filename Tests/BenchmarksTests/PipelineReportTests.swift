import JSON
import Records
import Settings
import TestSupport
import Testing
import Topology

@testable import Benchmarks
import Worker

/// The figures of `bench pipeline`, and their comparison with the goals.
@Suite struct PipelineReportTests {
    private static func setups(_ arguments: String...) throws -> [PipelineOptions.Setup] {
        let parsed = try PipelineOptions.syntax.parse(["--kafka=broker:9092"] + arguments)
        return try PipelineOptions(parsed).setups
    }

    private static func measurement(
        _ setup: PipelineOptions.Setup,
        workers: Double = 50,
        lockShare: Double = 0.04
    ) -> PipelineMeasurement {
        var activity = WorkerActivity()
        activity[.process] = 3
        activity[.database] = 1
        activity[.poll] = 4
        activity.batches = 10
        activity.records = 1_000
        return PipelineMeasurement(
            setup: setup,
            traffic: .renewals,
            recordCount: 1_000,
            recordsPerSecond: 5_000,
            verificationMicroseconds: 100,
            cpu: cpu(workers),
            walBytes: 3_000,
            scannedRows: 0.5,
            activity: [.link: activity],
            lockShares: [.link: lockShare, .verify: 0],
            growthShares: [.link: 0.125],
            residentBytesMax: [.verify: 40 << 20, .link: 50 << 20],
            latency: PipelineMeasurement.Latency(
                recordsPerSecond: 2_500,
                p50: 50,
                p99: 250,
                lone: [15, 15, 60],
                loneHops: [:],
                idleMilliseconds: 25,
                idleShare: 0.4,
                cpu: cpu(2 * workers),
                activity: [.link: activity],
                hops: [:]
            ),
            besideRecordsPerSecond: 3_125
        )
    }

    private static func cpu(_ workers: Double) -> CPUMicroseconds {
        CPUMicroseconds(
            workers: Dictionary(uniqueKeysWithValues: Topology.stages.map { ($0, workers) }),
            broker: 70,
            postgres: 120
        )
    }

    private static let verifier = Goal(
        name: "verifier",
        key: "warm_to_raw",
        value: 1.6,
        bound: 1.5,
        isCeiling: false
    )

    @Test func `copies go with each number of partitions, all else is varied alone`() throws {
        let setups = try Self.setups(
            "--partitions=4,16",
            "--copies=1,3",
            "--stored=10,1000",
            "--no-jit"
        )
        let counts = setups.map { [$0.partitions, $0.copies, $0.storedCount, $0.hasNoJIT ? 1 : 0] }
        #expect(
            counts == [
                [4, 1, 10, 0], [4, 3, 10, 0], [16, 1, 10, 0], [16, 3, 10, 0], [4, 1, 1000, 0],
                [4, 1, 10, 1],
            ]
        )
        #expect(throws: (any Error).self) { try Self.setups("--copies=0") }
    }

    @Test func `each figure stands beside what it has to reach`() throws {
        let setups = try Self.setups("--partitions=4,64", "--copies=1,3", "--stored=10,1000")
        let report = PipelineReport(
            setups.map { setup in
                Self.measurement(
                    setup,
                    workers: setup.storedCount == 10 ? 50 : 65,
                    lockShare: setup.partitions == 4 ? 0.04 : 0.06
                )
            },
            verifier: Self.verifier
        )
        PublishedSchema.expect("bench", ["pipeline", "--json"], report.json.bytes)
        let root = try JSONDocument(parsing: report.json.bytes).root
        let goals = try #require(root["goals"])
        let expected: [(String, Double, Double)] = [
            ("throughput_in_verifications", 0.5, 0.48), ("worker_verifications", 2, 2.2),
            ("postgresql_verifications", 1.2, 1.3), ("broker_verifications", 0.7, 0.6),
            ("resident_mebibytes_max", 50, 48), ("lock_percent_4_partitions_1_copies", 4, 5),
            ("lock_percent_64_partitions_3_copies", 6, 5),
            ("lone_p50_milliseconds", 15, 20), ("lone_p99_milliseconds", 60, 50),
            ("half_load_p50_milliseconds", 50, 100), ("half_load_p99_milliseconds", 250, 200),
            ("half_load_cpu_of_full_load", 1.513, 1.3), ("idle_percent_at_half_load", 40, 30),
            ("growth_at_64_partitions", 1, 1.2), ("growth_at_1000_stored", 1.3, 1.2),
            ("growth_at_postgresql_1000_stored", 1, 1.2), ("throughput_of_beside", 1.6, 1.3),
            ("warm_to_raw", 1.6, 1.5),
        ]
        for (key, value, reach) in expected {
            #expect(goals[key]?.double == value, "\(key)")
            #expect(root["reach"]?[key]?.double == reach, "\(key)")
        }
        let first = try #require(root["measurements"]?.elements.first { _ in true })
        #expect(first["growth_share"]?["link-worker"]?.double == 0.13)
        #expect(first["seconds"]?["link-worker"]?["database"]?.double == 1)
        #expect(first["seconds"]?["link-worker"]?["records_per_batch"]?.double == 100)
        let half = try #require(first["cpu_microseconds_per_record_at_half_load"])
        #expect(half["link-worker"]?.double == 100)
        let missed = report.lines.filter { $0.hasSuffix("missed") }
        #expect(missed.count == 8)
        #expect(missed.allSatisfy { $0.contains("≤") })
        #expect(report.lines.contains { $0.contains("reach") && $0.contains("measured") })
        #expect(report.lines.contains { $0.contains("link-worker") && $0.contains("38 %") })
        #expect(report.lines.contains { $0.contains("records/batch") })
        #expect(report.lines.contains { $0.contains("for pages") })
        #expect(report.lines.contains { $0.contains(" 4.0 %") && $0.contains(" 12.5 %") })
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
            """
        )
        #expect(page.assignedPartitions == 4)
        #expect(page.activity.processing == 1.75)
        #expect(page.activity[.poll] == 0)
        #expect(page.activity.recordsPerBatch == 20)
    }

    @Test func `of two builds, goals and further measurements are compared too`() throws {
        let report = """
            {"measurements":[{"records":5,"cpu":{"broker":2}},{"records":7}],"goals":{"x":3}}
            """
        let figures = CompareCommand.figures(of: try JSONDocument(parsing: Array(report.utf8)).root)
        #expect(figures == ["records": 5, "cpu.broker": 2, "2.records": 7, "goals.x": 3])
    }
}
