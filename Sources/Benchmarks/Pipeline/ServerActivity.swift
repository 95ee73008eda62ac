import Operations
import Postgres
import Synchronization
import Topology
import Worker

/// What the workers' sessions are found doing while it is sampled, and the log that the server
/// writes meanwhile.
final class ServerActivity: Sendable {
    struct Findings {
        /// Of a stage's time in transactions, what it waits for locks; none of a stage that was
        /// never found in one.
        let lockShares: [StageDescription: Double]
        /// What went into the write-ahead log.
        let walBytes: Double
    }

    private struct Samples {
        var busy: [String: Int] = [:]
        var waiting: [String: Int] = [:]
    }

    private static let interval = Duration.milliseconds(25)

    private let connection: PostgresConnection
    private let samples = Mutex(Samples())
    private let isEnding = Atomic(false)

    private init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    /// Samples while `body` runs, on a connection of its own that ends with it.
    static func sampled<Result>(
        _ database: PostgresOptions,
        during body: () async throws -> Result
    ) async throws -> (Result, Findings) {
        try await PostgresConnection.lend(database) { connection in
            let activity = ServerActivity(connection)
            let walStart = try await activity.walPosition()
            let sampling = Task { try await activity.sampleRepeatedly() }
            // Not cancelled: that would close the connection in the midst of a sample.
            defer { activity.isEnding.store(true, ordering: .releasing) }
            let result = try await body()
            activity.isEnding.store(true, ordering: .releasing)
            try await sampling.value
            let walBytes = try await activity.walPosition() - walStart
            return (result, activity.findings(walBytes: walBytes))
        }
    }

    private func findings(walBytes: Double) -> Findings {
        let samples = samples.withLock { $0 }
        var shares: [StageDescription: Double] = [:]
        for stage in Topology.stages {
            if let busy = samples.busy[stage.program] {
                shares[stage] = Double(samples.waiting[stage.program] ?? 0) / Double(busy)
            }
        }
        return Findings(lockShares: shares, walBytes: walBytes)
    }

    private func sampleRepeatedly() async throws {
        while !isEnding.load(ordering: .acquiring) {
            try await sample()
            try await Task.sleep(for: Self.interval)
        }
    }

    private func sample() async throws {
        let rows = try await connection.query(
            """
            SELECT application_name, count(*),
                   count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock')
            FROM pg_stat_activity
            WHERE datname = current_database() AND xact_start IS NOT NULL
              AND pid <> pg_backend_pid()
            GROUP BY application_name
            """
        )
        samples.withLock { samples in
            for row in rows {
                samples.busy[row.text(0), default: 0] += Int(row.int8(1))
                samples.waiting[row.text(0), default: 0] += Int(row.int8(2))
            }
        }
    }

    private func walPosition() async throws -> Double {
        try await connection.query(
            "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
        )[0].float8(0)
    }
}
