import Glibc
import Postgres
import Records
import Simulation
import TestSupport
import Testing

extension RunningPipeline {
    /// Stops a worker between two statements of a transaction, like a machine that freezes, waits
    /// until PostgreSQL has ended that transaction, and continues the worker.
    ///
    /// The worker's stage must have no other copy: a session is known by its stage alone.
    ///
    /// - Returns: false if the worker was in no transaction within a while.
    func freezeInTransaction(_ copy: WorkerCopy) async throws -> Bool {
        try await withDatabase { connection in
            let isFrozen = try await becomesTrue(within: .seconds(15), every: .milliseconds(1)) {
                guard try await Self.isInTransaction(copy, connection) else { return false }
                copy.process.signal(SIGSTOP)
                // A statement sent before may still end the transaction.
                let hasEnded = try await becomesTrue(within: .milliseconds(100)) {
                    try await !Self.isInTransaction(copy, connection)
                }
                if hasEnded { copy.process.signal(SIGCONT) }
                return !hasEnded
            }
            guard isFrozen else { return false }
            try await eventually("PostgreSQL ends \(copy.name)'s work") {
                try await !Self.isInTransaction(copy, connection)
            }
            copy.process.signal(SIGCONT)
            return true
        }
    }

    private static func isInTransaction(_ copy: WorkerCopy, _ connection: PostgresConnection) async throws -> Bool {
        try await !connection.query(
            """
            SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = $1
                AND state = 'idle in transaction'
            """, [.text(copy.stage.program)]
        ).isEmpty
    }
}
