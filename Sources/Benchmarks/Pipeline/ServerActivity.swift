import Foundation
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
    private let walStart: Double
    private let samples = Mutex(Samples())
    private let isEnding = Atomic(false)
    private let sampling = Mutex<Task<Void, any Error>?>(nil)

    private init(_ connection: PostgresConnection, walStart: Double) {
        self.connection = connection
        self.walStart = walStart
    }

    /// Begins to sample, on a connection of its own.
    static func begin(_ database: PostgresOptions) async throws -> ServerActivity {
        let connection = try await PostgresConnection.connect(database)
        let activity = ServerActivity(
            connection,
            walStart: try await walPosition(connection)
        )
        activity.sampling.withLock {
            $0 = Task { [activity] in
                while !activity.isEnding.load(ordering: .acquiring) {
                    try await activity.sample()
                    try await Task.sleep(for: interval)
                }
            }
        }
        return activity
    }

    /// Ends the sampling and its connection.
    func end() async throws -> Findings {
        // Not cancelled: that would close the connection in the midst of a sample.
        isEnding.store(true, ordering: .releasing)
        try await sampling.withLock { $0 }?.value
        let walBytes = try await Self.walPosition(connection) - walStart
        await connection.close()
        let samples = samples.withLock { $0 }
        var shares: [StageDescription: Double] = [:]
        for stage in Topology.stages {
            if let busy = samples.busy[stage.program] {
                shares[stage] = Double(samples.waiting[stage.program] ?? 0) / Double(busy)
            }
        }
        return Findings(lockShares: shares, walBytes: walBytes)
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

    private static func walPosition(_ connection: PostgresConnection) async throws -> Double {
        try await connection.query(
            "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
        )[0].float8(0)
    }
}
