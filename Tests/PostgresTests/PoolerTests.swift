import Foundation
import Postgres
import Simulation
import TestSupport
import Testing

/// pgbouncer between a program and its server.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Pooler.program != nil, "no pgbouncer"))
struct PoolerTests {
    @Test func `a pool in session mode passes, one in transaction mode is refused plainly`()
        async throws
    {
        let server = try await PostgresServer.shared.server()
        for (mode, isRefused) in [("session", false), ("transaction", true)] {
            let pooler = try Pooler(mode, before: server)
            var options = PostgresOptions(
                connectionString: pooler.connectionString,
                applicationName: "tests"
            )
            options.isHeld = true
            var refusal: PostgresError?
            let isAnswered = await becomesTrue(within: .seconds(30)) {
                do throws(PostgresError) {
                    let connection = try await PostgresConnection.connect(options)
                    try await connection.listen(to: "anything")
                    await connection.close()
                    refusal = nil
                    return true
                } catch {
                    refusal = error
                    return error.code == .pooledByTransaction
                }
            }
            #expect(isAnswered, "\(mode): \(String(describing: refusal))")
            #expect((refusal?.code == .pooledByTransaction) == isRefused)
            #expect(refusal?.fault == (isRefused ? .operator : nil))
            try await pooler.remove()
        }
    }
}

/// A pgbouncer of a test's own.
private struct Pooler {
    /// Debian keeps it out of a user's path.
    static let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    let connectionString: String
    private let process: ChildProcess
    private let folder: URL

    init(_ mode: String, before server: PrivatePostgres) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "pooler-\(UUID().uuidString)")
        let files = FileManager.default
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let whole = server.connectionString()
        let login = try #require(URLComponents(string: whole)?.password)
        let port = try LoopbackPort.free()
        connectionString = "postgresql://postgres@127.0.0.1:\(port)/postgres"
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(server.port) user=postgres password=\(login)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            """
        let path = folder.appending(path: "pgbouncer.ini").path
        try Data(settings.utf8).write(to: URL(filePath: path))
        // pgbouncer refuses to run as root.
        let user = geteuid() == 0 ? ["--user=postgres"] : []
        process = try ChildProcess(
            executable: #require(Self.program),
            arguments: ["--quiet"] + user + [path],
            environment: ["PATH": "/usr/bin:/bin"]
        )
    }

    func remove() async throws {
        process.kill()
        try await process.waitForEnd(deadline: .hopeless)
        try FileManager.default.removeItem(at: folder)
    }
}
