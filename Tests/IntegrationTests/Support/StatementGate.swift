import Postgres
import TestSupport
import Testing

/// A gate in the database at which the statements of one kind wait, so that the worker that has
/// sent one can be killed right there.
struct StatementGate {
    private let connection: PostgresConnection

    /// Closes the gate.
    ///
    /// - Parameter occasion: of a statement trigger.
    init(_ occasion: String, _ connection: PostgresConnection) async throws {
        self.connection = connection
        _ = try await connection.query(
            """
            CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_advisory_xact_lock_shared(\(Self.key)); RETURN NULL; END'
            """)
        _ = try await connection.query(
            """
            CREATE TRIGGER gate BEFORE \(occasion)
            FOR EACH STATEMENT EXECUTE FUNCTION wait_at_gate()
            """)
        try await close()
    }

    func close() async throws { _ = try await connection.query("SELECT pg_advisory_lock(\(Self.key))") }

    /// Lets every statement pass, and waits until those that are waiting have ended.
    ///
    /// - Parameter undoing: whether the waiting statements fail instead of taking effect.
    func open(undoing: Bool = false) async throws {
        let waiting = PostgresValue.textArray(try await waiting())
        if undoing {
            _ = try await connection.query(
                "SELECT pg_terminate_backend(pid::int) FROM unnest($1::text[]) AS pid", [waiting])
        }
        _ = try await connection.query("SELECT pg_advisory_unlock(\(Self.key))")
        try await eventually("the held statement has ended") {
            try await connection.query(
                """
                SELECT FROM pg_stat_activity
                WHERE pid::text = ANY ($1::text[]) AND state = 'active'
                """, [waiting]
            ).isEmpty
        }
    }

    func isReached() async throws -> Bool { try await !waiting().isEmpty }

    /// The server processes of the statements that wait.
    private func waiting() async throws -> [String?] {
        try await connection.query(
            """
            SELECT pid::text FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND (classid, objid) = (\(Self.key))
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        ).map { $0.text(0) }
    }

    private static let key = "4711, 1"
}
