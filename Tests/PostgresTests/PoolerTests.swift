import Foundation
import Simulation
import TestSupport
import Testing

@testable import Postgres

/// pgbouncer between a program and its server.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Pooler.program != nil, "no pgbouncer")) struct PoolerTests {
    private static func options(_ pooler: Pooler) -> PostgresOptions {
        var options = PostgresOptions(connectionString: pooler.connectionString, applicationName: "tests")
        options.isHeld = true
        options.connectDeadline = .seconds(30)
        return options
    }

    /// Connects once the pooler is up.
    ///
    /// - Returns: the refusal; nil if the pooler accepts.
    private static func refusal(by pooler: Pooler) async throws -> PostgresError? {
        var refusal: PostgresError?
        let isAnswered = await becomesTrue(within: .seconds(60)) {
            do throws(PostgresError) {
                let connection = try await PostgresConnection.connect(options(pooler))
                try await connection.listen(to: "anything")
                await connection.close()
                refusal = nil
                return true
            } catch {
                refusal = error
                return error.code == .pooledByTransaction
            }
        }
        #expect(isAnswered, "\(String(describing: refusal))")
        return refusal
    }

    @Test(arguments: ["", "server_round_robin = 1"])
    func `a pool in session mode passes, one in transaction mode is refused plainly`(setting: String) async throws {
        let server = try await PostgresServer.shared.server()
        for (mode, isRefused) in [("session", false), ("transaction", true)] {
            let pooler = try Pooler(mode, before: server, settings: [setting])
            let refusal = try await Self.refusal(by: pooler)
            #expect((refusal?.code == .pooledByTransaction) == isRefused)
            #expect(refusal?.fault == (isRefused ? .operator : nil))
            try await pooler.remove()
        }
    }

    @Test(arguments: ["", "server_round_robin = 1"])
    func `a pool in transaction mode is refused each time while others use it`(setting: String) async throws {
        let server = try await PostgresServer.shared.server()
        let pooler = try Pooler("transaction", before: server, settings: [setting])
        _ = try await Self.refusal(by: pooler)
        let load = try pooler.load(clients: 4)
        let observer = try await PostgresConnection.connect(server.options("observer"))
        try await eventually("others use the pool") {
            try await observer.query(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(0.002)%'")[0].int8(0) > 0
        }
        await observer.close()
        for _ in 0..<3 {
            let refusal = try await Self.refusal(by: pooler)
            #expect(refusal?.code == .pooledByTransaction)
        }
        #expect(load.isRunning)
        load.kill()
        try await load.waitForEnd(deadline: .hopeless)
        try await pooler.remove()
    }

    @Test func `one free place is enough, for the server itself and for a pool in session mode`() async throws {
        var configuration = PrivatePostgres.Configuration()
        configuration.settings = ["max_connections": "4", "superuser_reserved_connections": "0"]
        try await PrivatePostgres.lend(configuration) { server in
            let pooler = try Pooler("session", before: server, settings: ["default_pool_size = 1"])
            #expect(try await Self.refusal(by: pooler) == nil)
            var others: [PostgresConnection] = []
            for _ in 0..<3 { others.append(try await PostgresConnection.connect(server.options("others"))) }
            #expect(try await Self.refusal(by: pooler) == nil)
            try await pooler.remove()
            let isAnswered = await becomesTrue(within: .seconds(30)) {
                (try? await PostgresConnection.connect(server.options("last"))) != nil
            }
            #expect(isAnswered)
            for other in others { await other.close() }
        }
    }

    @Test func `a statement's name that is not this session's is that of a pool`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        for change in ["DEALLOCATE ALL", nil] {
            let connection = try await PostgresConnection.connect(options)
            _ = try await connection.query("SELECT 1")
            let name = try await connection.query(
                "SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT 1'")[0].text(0)
            // Another client of the process has removed the statements, or prepared the next one.
            let number = try #require(name.split(separator: "_").last.flatMap { Int($0) })
            let next = name.prefix { $0 != "_" } + "_\(number + 2)"
            try await connection.execute(script: change ?? "PREPARE \(next) AS SELECT 2")
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query(change == nil ? "SELECT 3" : "SELECT 1")
            }
            #expect(error?.code == .pooledByTransaction)
            #expect(await !connection.isUsable())
        }
    }

    @Test func `no two connections give a statement one name`() {
        var names: Set<String> = []
        for _ in 0..<100 {
            var statements = PreparedStatements(countMax: 1)
            names.formUnion((0..<10).map { _ in statements.newName() })
        }
        #expect(names.count == 1_000)
    }
}

/// A pgbouncer of a test's own.
private struct Pooler {
    /// Debian keeps it out of a user's path.
    static let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let connectionString: String
    private let process: ChildProcess
    private let folder: URL

    /// - Parameter settings: further lines of its settings.
    init(_ mode: String, before server: PrivatePostgres, settings: [String] = []) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "pooler-\(UUID().uuidString)")
        let files = FileManager.default
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let whole = server.connectionString()
        let login = try #require(URLComponents(string: whole)?.password)
        let port = try LoopbackPort.free()
        connectionString = "postgresql://postgres@127.0.0.1:\(port)/postgres"
        let lines = """
            [databases]
            * = host=127.0.0.1 port=\(server.port) user=postgres password=\(login)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            server_login_retry = 1
            \(settings.joined(separator: "\n"))
            """
        let path = folder.appending(path: "pgbouncer.ini").path
        try Data(lines.utf8).write(to: URL(filePath: path))
        // pgbouncer refuses to run as root.
        let user = geteuid() == 0 ? ["--user=postgres"] : []
        process = try ChildProcess(
            executable: #require(Self.program), arguments: ["--quiet"] + user + [path],
            environment: ["PATH": "/usr/bin:/bin"])
    }

    /// Clients that run short statements through the pool until they are killed.
    func load(clients: Int) throws -> ChildProcess {
        let script = folder.appending(path: "load.sql").path
        try Data("SELECT pg_sleep(0.002);\n".utf8).write(to: URL(filePath: script))
        return try ChildProcess(
            executable: PostgresBinaries.find().folder + "/pgbench",
            arguments: ["--no-vacuum", "--client=\(clients)", "--time=600", "--file=\(script)", connectionString],
            environment: ["PATH": "/usr/bin:/bin"])
    }

    func remove() async throws {
        process.kill()
        try await process.waitForEnd(deadline: .hopeless)
        try FileManager.default.removeItem(at: folder)
    }
}
