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

    /// Lets every statement pass.
    func open() async throws { _ = try await connection.query("SELECT pg_advisory_unlock(\(Self.key))") }

    /// Lets what a killed program has sent end, also what comes to the gate later than the rest.
    ///
    /// - Parameters:
    ///   - program: the sessions' application name.
    ///   - undoing: whether the statements fail instead of taking effect.
    func release(killed program: String, undoing: Bool) async throws {
        let sessions = "FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()"
        if undoing { _ = try await connection.query("SELECT pg_terminate_backend(pid) \(sessions)", [.text(program)]) }
        try await open()
        try await eventually("the sessions of \(program) have ended") {
            try await connection.query("SELECT \(sessions)", [.text(program)]).isEmpty
        }
    }

    /// Whether a statement waits.
    func isReached() async throws -> Bool {
        try await !connection.query(
            """
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND NOT granted AND (classid, objid) = (\(Self.key))
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        ).isEmpty
    }

    private static let key = "4711, 1"
}
