import Simulation
import Postgres
import TestSupport
import Testing

@Suite struct ErrorTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.emptyDatabase()
        connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                CREATE TABLE facts (id int8 PRIMARY KEY, name text NOT NULL CHECK (name <> 'bad'));
                INSERT INTO facts VALUES (1, 'one');
                """)
    }

    private func failure(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresError {
        try await #require(throws: PostgresError.self) { try await connection.query(sql, parameters) }
    }

    @Test func `a violated constraint is the record's fault and is named`() async throws {
        let error = try await failure("INSERT INTO facts VALUES ($1, 'x')", [.int8(1)])
        #expect(error.code == .server)
        #expect(error.sqlState == .uniqueViolation)
        #expect(error.constraint == "facts_pkey")
        #expect(error.table == "facts")
        #expect(error.isRecordFault)
        #expect(!error.isRetriable)
    }

    @Test(arguments: [
        "SELECT ($1::text)::int8", "SELECT ($1::text)::json", "SELECT ($1::text)::timestamptz",
        "INSERT INTO facts VALUES (1, $1)", "INSERT INTO facts VALUES (2, nullif($1, $1))",
    ]) func `no error shows a parameter's value`(sql: String) async throws {
        let secret = "bearer-4711"
        let error = try await failure(sql, [.text(secret)])
        #expect(error.isRecordFault)
        #expect(!"\(error)".contains("4711"))
        #expect(!String(reflecting: error).contains("4711"))
    }

    @Test func `bytes that are no text are the record's fault`() async throws {
        let nul = try await failure("SELECT $1::text", [.textBytes([0x61, 0, 0x62])])
        #expect(nul.isRecordFault)
        let malformed = try await failure("SELECT $1::text", [.textBytes([0xff, 0xfe])])
        #expect(malformed.sqlState == SQLState("22021"))
        #expect(malformed.isRecordFault)
    }

    @Test func `a missing table is the operator's fault and may be retried`() async throws {
        let error = try await failure("SELECT 1 FROM nowhere")
        #expect(error.sqlState == .undefinedTable)
        #expect(error.fault == .operator)
        #expect(error.isRetriable)
        #expect("\(error)".contains("nowhere"))
    }

    @Test func `an error leaves the connection usable`() async throws {
        _ = try await failure("SELECT 1/$1::int8", [.int8(0)])
        #expect(try await connection.query("SELECT 7::int8")[0].int8(0) == 7)
        #expect(await connection.isUsable())
    }

    @Test(arguments: [
        ("08006", PostgresFault.infrastructure), ("40001", .infrastructure), ("40P01", .infrastructure),
        ("53100", .infrastructure), ("53300", .infrastructure), ("55P03", .infrastructure), ("57014", .infrastructure),
        ("57P01", .infrastructure), ("58030", .infrastructure), ("XX000", .infrastructure), ("25006", .infrastructure),
        ("99999", .infrastructure), ("22001", .record), ("22021", .record), ("22P02", .record), ("22P05", .record),
        ("23505", .record), ("23514", .record), ("54000", .record), ("54001", .operator), ("42P01", .operator),
        ("42501", .operator), ("28P01", .operator), ("3D000", .operator), ("0A000", .operator),
    ]) func `a SQLSTATE says whose fault it is`(state: String, fault: PostgresFault) {
        let error = PostgresError(code: .server, message: "", sqlState: SQLState(state))
        #expect(error.fault == fault)
        #expect(error.isRetriable == (fault != .record))
    }

    @Test func `a wrong password has an error of its own`() async throws {
        let port = try await PostgresServer.shared.server().port
        let wrong = options("postgresql://postgres:wrong-4711@127.0.0.1:\(port)/postgres")
        let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(wrong) }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.sqlState == SQLState("28P01"))
        #expect(error?.fault == .operator)
        #expect(error.map { "\($0)".contains("4711") } == false)
    }

    @Test func `a missing database has an error of its own`() async throws {
        let server = try await PostgresServer.shared.server()
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect(options(server.connectionString(database: "nowhere")))
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.sqlState == SQLState("3D000"))
        #expect(error?.fault == .operator)
    }

    @Test(arguments: [
        "postgresql://127.0.0.1:1/x", "postgresql:///x?host=/nowhere",
        // Longer than a label of a name may be: refused without asking a name server.
        "postgresql://\(String(repeating: "a", count: 70)).invalid/x",
    ]) func `a server that cannot be reached is infrastructure`(string: String) async throws {
        let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(options(string)) }
        #expect(error?.code == .connectionFailed)
        #expect(error?.fault == .infrastructure)
    }

    @Test(arguments: ["postgresql://user:secret-4711@host:x:y:z/", "passwort='secret-4711'", "secret-4711"])
    func `a malformed connection string is not quoted`(string: String) async throws {
        let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(options(string)) }
        #expect(error.map { "\($0)".contains("4711") } == false)
        #expect(error?.isRecordFault == false)
    }

    @Test(arguments: [
        "postgresql://user:geheim@secret-4711.invalid@127.0.0.1:1/db",
        "postgresql://user:geheim/secret-4711@127.0.0.1:1/db", "postgresql://user:secret-4711/geheim@127.0.0.1:1/db",
        "postgresql://user:secret-4711/db", "postgres://127.0.0.1:1/secret-4711@host/db",
        "postgresql://user:geheim?secret-4711=x@127.0.0.1:1/db", "host=127.0.0.1 port=secret-4711",
        "postgresql://h/d?sslmode=secret-4711", "postgresql://h/d?hostaddr=secret-4711",
        "postgresql://h/d?keepalives=secret-4711",
    ]) func `no part of a password that ends up elsewhere in the string is quoted`(string: String) async throws {
        let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(options(string)) }
        #expect(error.map { "\($0)".contains("4711") } == false, "\(String(describing: error))")
        #expect(error?.code == .invalidConnectionString || error?.code == .connectionFailed)
    }

    private func options(_ connectionString: String) -> PostgresOptions {
        PostgresOptions(connectionString: connectionString, applicationName: "tests")
    }
}
