import AppStore
import AppStoreServer
import Foundation
import JSON
import Kafka
import Operations
import Platform
import Postgres
import Settings
import Simulation
import Store
import Topology

/// One run of `bench recovery`.
struct RecoveryBenchmark {
    let recordCount: Int
    let sharePercent: Int
    let console: Console

    private static let standstillMax = Duration.seconds(120)

    func run() async throws -> RecoveryMeasurement {
        let cluster = try MockCluster()
        defer { cluster.stop() }
        for plan in TopicLayout(partitions: 2).plans {
            try cluster.createTopic(plan.name, partitions: Int(plan.partitions))
        }
        let world = AppleWorld(authority: try CertificateAuthority())
        let now = SimulatedClock().now
        world.generateNotifications(
            count: recordCount,
            dates: now - 178 * Timestamp.millisecondsPerDay...now - 3_600_000
        )
        let apple = try SimulatedApple(world, apps: [.pro])
        defer { apple.stop() }
        return try await PrivatePostgres.lend { server in
            try await measure(cluster, apple, server.connectionString())
        }
    }

    private func measure(
        _ cluster: MockCluster,
        _ apple: SimulatedApple,
        _ databaseURL: String
    ) async throws -> RecoveryMeasurement {
        let database = PostgresOptions(connectionString: databaseURL, applicationName: "bench")
        let migrations = try MigrationFolder.find().migrations()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await PostgresConnection.lend(database) { connection in
            _ = try await Migrator(migrations).run(on: connection)
            let workers = try RigWorker.start(
                [.recovery],
                copies: 1,
                environment: apple.environment.merging([
                    "DATABASE_URL": databaseURL, "KAFKA_BOOTSTRAP": cluster.bootstrapServers,
                    "RECOVERY_RATE_SHARE": "\(sharePercent)",
                ]) { $1 },
                logs: folder
            )
            guard let worker = workers[.recovery]?.first else {
                throw BenchError("no recovery-worker was started")
            }
            let samples = try await closing {
                _ = try? await worker.process.stop(grace: .seconds(30))
            } after: {
                try await sample(worker, apple, connection)
            }
            return RecoveryMeasurement(
                recordCount: recordCount,
                bucketPerSecond: 1 / (bucketInterval / .seconds(1)),
                samples: samples
            )
        }
    }

    private var bucketInterval: Duration {
        APIEndpoint.notificationHistory.interval(in: .production, percent: sharePercent)
    }

    /// Takes a sample when a hundredth, a tenth and all of the notifications are listed.
    private func sample(
        _ worker: RigWorker,
        _ apple: SimulatedApple,
        _ connection: PostgresConnection
    ) async throws -> [RecoveryMeasurement.Sample] {
        var samples: [RecoveryMeasurement.Sample] = []
        var marks = [recordCount / 100, recordCount / 10, recordCount].map { Int64($0) }
        var (last, lastMove) = (Int64(-1), ContinuousClock.now)
        while let mark = marks.first {
            guard worker.process.isRunning else {
                throw BenchError("recovery-worker has ended:\n\(worker.endOfLog)")
            }
            let states = try await connection.run(RecoveryWindowTable.states)
            let listed = states.first { $0.job == .complete }?.listed ?? 0
            if listed >= mark {
                marks.removeFirst()
                samples.append(
                    RecoveryMeasurement.Sample(
                        listed: listed,
                        requestsPerSecond: Self.rate(apple.server.requests.map(\.time)),
                        residentBytesMax: ProcessUsage.residentBytesMax(worker.process.processID)
                            ?? 0
                    )
                )
                console.note("\(Quantity.grouped(listed)) notifications are listed")
            }
            if listed != last {
                (last, lastMove) = (listed, .now)
            } else if ContinuousClock.now - lastMove > Self.standstillMax {
                throw BenchError("only \(listed) notifications were listed\n\(worker.endOfLog)")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        return samples
    }

    /// Requests per second from the first to the last.
    private static func rate(_ times: [Int64]) -> Double {
        guard let first = times.first, let last = times.last, first < last else { return .nan }
        return Double(times.count - 1) * 1_000 / Double(last - first)
    }
}

/// The result of one run of `bench recovery`.
struct RecoveryMeasurement: BenchReport {
    struct Sample {
        let listed: Int64
        /// Over all requests so far.
        let requestsPerSecond: Double
        /// The most that was ever resident in the worker.
        let residentBytesMax: Int
    }

    let recordCount: Int
    let bucketPerSecond: Double
    let samples: [Sample]

    var goals: [Goal] {
        guard let first = samples.first, let last = samples.last else { return [] }
        let memory = Double(last.residentBytesMax) / Double(first.residentBytesMax)
        let rate = last.requestsPerSecond / bucketPerSecond
        return [
            Goal("memory, all notifications / a hundredth", "memory_ratio", memory, atMost: 1.25),
            // Late requests are made up for, so some more than the time admits are made.
            Goal("requests/s / the bucket's", "rate_ratio", rate, atMost: 1.01),
            Goal("the same, at least", "rate_ratio_least", rate, atLeast: 0.9),
        ]
    }

    var lines: [String] {
        var table = TextTable([
            .init("notifications listed", .right), .init("requests/s", .right),
            .init("resident at most, MiB", .right),
        ])
        for sample in samples {
            table.add([
                Quantity.grouped(sample.listed),
                FixedPoint.text(sample.requestsPerSecond, digits: 1),
                FixedPoint.text(Double(sample.residentBytesMax) / 1_048_576, digits: 1),
            ])
        }
        return table.lines() + [""] + Goal.table(goals)
    }

    var json: JSONContent {
        let read = samples.map { sample -> JSONContent in
            ["listed": sample.listed, "resident_bytes_max": sample.residentBytesMax]
        }
        return ["benchmark": "recovery", "records": recordCount, "samples": read]
            + Goal.json(goals)
    }
}
