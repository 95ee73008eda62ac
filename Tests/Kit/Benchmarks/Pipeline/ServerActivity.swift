import Operations
import Postgres
import Records
import Synchronization
import Topology

/// Samples of the workers' sessions, and the size of the log that the server writes during the
/// sampling.
final class ServerActivity: Sendable {
    struct Findings {
        /// Sum of the time that the sessions of each stage's workers waited for others'
        /// transactions.
        let lockSeconds: [StageDescription: Double]
        /// Bytes written to the write-ahead log.
        let walBytes: Double
    }

    private struct Samples {
        var count = 0
        /// Number of waiting sessions in all samples, by program.
        var waiting: [String: Int] = [:]
    }

    private static let interval = Duration.milliseconds(25)

    private let connection: PostgresConnection
    private let isEnding = Atomic(false)

    private init(_ connection: PostgresConnection) { self.connection = connection }

    /// Samples while `body` runs, on a connection of its own that ends with it.
    static func sampled<Result>(_ database: PostgresOptions, during body: () async throws -> Result) async throws -> (
        Result, Findings
    ) {
        try await PostgresConnection.lend(database) { connection in
            let activity = ServerActivity(connection)
            let before = try await activity.walPosition()
            let start = ContinuousClock.now
            let sampling = Task { try await activity.sampleRepeatedly() }
            // Not cancelled: that would close the connection in the midst of a sample.
            defer { activity.isEnding.store(true, ordering: .releasing) }
            let result = try await body()
            activity.isEnding.store(true, ordering: .releasing)
            let samples = try await sampling.value
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let walBytes = try await activity.walPosition() - before
            return (result, Findings(lockSeconds: waits(samples, of: seconds), walBytes: walBytes))
        }
    }

    /// Seconds of waiting by stage, each sample counted as an equal share of the time.
    private static func waits(_ samples: Samples, of seconds: Double) -> [StageDescription: Double] {
        guard samples.count > 0 else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: Topology.stages.map { stage in
                let waiting = Double(samples.waiting[stage.program] ?? 0)
                return (stage, waiting * seconds / Double(samples.count))
            })
    }

    /// Counts the sessions that wait for locks, again and again.
    ///
    /// Waits for a page to be added to a table do not count, as no transaction's end can shorten
    /// them.
    private func sampleRepeatedly() async throws -> Samples {
        var samples = Samples()
        while !isEnding.load(ordering: .acquiring) {
            let rows = try await connection.query(
                """
                SELECT application_name, count(*)
                FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'active'
                  AND wait_event_type = 'Lock' AND wait_event <> 'extend'
                  AND pid <> pg_backend_pid()
                GROUP BY 1
                """)
            samples.count += 1
            for row in rows { samples.waiting[row.text(0), default: 0] += Int(row.int8(1)) }
            try await Task.sleep(for: Self.interval)
        }
        return samples
    }

    private func walPosition() async throws -> Double {
        let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
        return try await connection.query(sql)[0].float8(0)
    }
}
