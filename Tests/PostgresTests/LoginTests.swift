import Simulation
import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// Passwords that are replaced while sessions are open, on a server that asks for them by SCRAM.
@Suite(.timeLimit(.minutes(10))) struct LoginTests {
    /// A role of a test's own, with the "file" of its password and a client that follows it.
    private final class RotatingRole: Sendable {
        let client: PostgresClient
        private let owner: PostgresClient
        private let name = "rotating_\(UInt32.random(in: 0...UInt32.max))"
        private let file = PasswordFile()

        init() async throws {
            var options = try await PostgresServer.shared.emptyDatabase()
            owner = PostgresClient(options)
            try await owner.withConnection { [name] connection in
                try await connection.execute(script: "CREATE ROLE \(name) LOGIN PASSWORD 'first'")
            }
            let port = try await PostgresServer.shared.server().port
            let database = try await owner.query("SELECT current_database()::text")[0].text(0)
            let string = "postgresql://\(name)@127.0.0.1:\(port)/\(database)"
            options.connectionString = string
            options.newestLogin = { [file] in PostgresLogin(connectionString: string, password: file.password) }
            client = PostgresClient(options, connectionsMax: 4)
        }

        func write(_ password: String) { file.write(password) }

        func change(to password: String) async throws {
            try await owner.withConnection { [name] connection in
                try await connection.execute(script: "ALTER ROLE \(name) PASSWORD '\(password)'")
            }
        }

        /// The server's processes of the role's sessions.
        func processes() async throws -> Set<Int64> {
            let rows = try await owner.query("SELECT pid::int8 FROM pg_stat_activity WHERE usename = $1", [.text(name)])
            return Set(rows.map { $0.int8(0) })
        }

        /// Opens all sessions that the pool may have, and returns them to it.
        func fill(_ depth: Int = 4) async throws {
            guard depth > 0 else { return }
            try await client.withConnection { _ in try await fill(depth - 1) }
        }
    }

    private final class PasswordFile: Sendable {
        private let state = Mutex("first")

        var password: String { state.withLock(\.self) }

        func write(_ password: String) { state.withLock { $0 = password } }
    }

    @Test func `a wrong password is refused, and the one that has worked opens further sessions`() async throws {
        let role = try await RotatingRole()
        _ = try await role.client.query("SELECT 1")
        role.write("wrong")
        for _ in 0..<2 {
            let error = await #expect(throws: PostgresError.self) { try await role.client.signIn() }
            #expect(error?.code == .authenticationFailed)
        }
        try await role.fill()
        #expect(try await role.processes().count == 4)
        await role.client.close()
    }

    @Test func `without a password that has worked a wrong one opens nothing`() async throws {
        let role = try await RotatingRole()
        role.write("wrong")
        let error = await #expect(throws: PostgresError.self) { try await role.client.query("SELECT 1") }
        #expect(error?.code == .authenticationFailed)
    }

    @Test func `all sessions are replaced once the new password has worked`() async throws {
        let role = try await RotatingRole()
        let standing = StandingConnection(role.client)
        func useStanding() async throws -> Int64 {
            try await standing.use(beginning: { _ in }) {
                try await $0.query("SELECT pg_backend_pid()::int8")[0].int8(0)
            }
        }
        let kept = try await useStanding()
        try await role.fill()
        let former = try await role.processes()
        #expect(former.count == 5)
        role.write("second")
        await #expect(throws: PostgresError.self) { try await role.client.signIn() }
        #expect(try await role.processes() == former)

        try await role.change(to: "second")
        // One session is lent at that moment.
        let lent = try await role.client.withConnection { connection in
            try await role.client.signIn()
            return try await connection.query("SELECT pg_backend_pid()::int8")[0].int8(0)
        }
        #expect(former.contains(lent))
        #expect(try await useStanding() != kept)
        try await eventually("no session of the former password is left") {
            try await role.processes().isDisjoint(with: former)
        }
        try await role.fill()
        #expect(try await role.processes().isDisjoint(with: former))
        await standing.close()
        await role.client.close()
    }
}
