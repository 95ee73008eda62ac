import Foundation
import Operations
import Postgres
import Simulation
import TestSupport

/// A private server with an archived log that can be restored to an instant: base backup and
/// archived log, as in PostgreSQL's manual ("Continuous Archiving and Point-in-Time Recovery").
struct RecoverableServer: Sendable {
    let server: PrivatePostgres
    private let folder: URL

    private var archive: String { folder.appending(path: "wal").path }
    private var backup: String { folder.appending(path: "base").path }

    private static var configuration: PrivatePostgres.Configuration {
        var configuration = PrivatePostgres.Configuration()
        configuration.settings = ["wal_level": "replica", "max_wal_senders": "4", "full_page_writes": "on"]
        return configuration
    }

    static func start() async throws -> RecoverableServer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "recoverable-\(UUID().uuidString)")
        let archive = folder.appending(path: "wal")
        try FileManager.default.createDirectory(at: archive, withIntermediateDirectories: true)
        // The server runs as another user if this process is root.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: archive.path)
        var configuration = Self.configuration
        configuration.settings["archive_mode"] = "on"
        configuration.settings["archive_command"] = "cp %p \(archive.path)/%f"
        let server = try await PrivatePostgres.start(configuration)
        return RecoverableServer(server: server, folder: folder)
    }

    func remove() async throws {
        try await server.remove()
        try? FileManager.default.removeItem(at: folder)
    }

    /// A base backup under load.
    func backUp() async throws {
        try await run(
            try PostgresBinaries.find().folder + "/pg_basebackup",
            ["-d", server.connectionString(), "-D", backup, "-X", "none", "--checkpoint=fast", "--no-sync"])
    }

    /// Waits until the present log is in the archive.
    ///
    /// - Returns: the server's time.
    func archiveLog() async throws -> String {
        try await lend { connection in
            let now = try await connection.query("SELECT clock_timestamp()::text")[0].text(0)
            // An empty log segment is not switched.
            let segment = try await connection.query(
                """
                SELECT pg_walfile_name(pg_switch_wal()) FROM (
                    SELECT pg_logical_emit_message(true, 'rehearsal', 'switch')
                ) AS written
                """)[0].text(0)
            let isArchived = try await becomesTrue(within: .seconds(60), every: .milliseconds(100)) {
                try await connection.query(
                    "SELECT coalesce(last_archived_wal >= $1, false) FROM pg_stat_archiver", [.text(segment)])[0].bool(
                        0)
            }
            guard isArchived else { throw PipelineFailure("the log was not archived") }
            return now
        }
    }

    /// Loses the server's files, and restores the backup and the log up to an instant.
    func restore(to instant: String) async throws {
        let data = try await Self.dataFolder(of: server)
        try await server.stop(.immediate)
        let settings = """

            restore_command = 'cp \(archive)/%f %p'
            recovery_target_time = '\(instant)'
            recovery_target_action = 'promote'

            """
        try await install(in: data, settings, signal: "recovery.signal")
        try await server.start()
        let isOver = try await becomesTrue(within: .seconds(60), every: .milliseconds(100)) {
            try await lend { connection in try await !connection.query("SELECT pg_is_in_recovery()")[0].bool(0) }
        }
        guard isOver else { throw PipelineFailure("the recovery does not come to an end") }
    }

    /// A hot standby of the backup, which streams the log from the server.
    ///
    /// Connections to it need no password.
    func startStandby() async throws -> PrivatePostgres {
        let standby = try await PrivatePostgres.start(Self.configuration)
        let data = try await Self.dataFolder(of: standby)
        try await standby.stop(.immediate)
        let settings = """

            primary_conninfo = '\(server.connectionString())'

            """
        try await install(in: data, settings, signal: "standby.signal")
        try Data("host all all 127.0.0.1/32 trust\n".utf8).write(to: URL(filePath: data + "/pg_hba.conf"))
        try await standby.start()
        return standby
    }

    private static func dataFolder(of server: PrivatePostgres) async throws -> String {
        let options = server.options("rehearsal")
        return try await PostgresConnection.lend(options) { connection in
            try await connection.query("SHOW data_directory")[0].text(0)
        }
    }

    /// Replaces a stopped server's files with the backup.
    private func install(in data: String, _ settings: String, signal: String) async throws {
        let owner = try FileManager.default.attributesOfItem(atPath: data)[.ownerAccountName]
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: backup, toPath: data)
        let file = try FileHandle(forWritingTo: URL(filePath: data + "/postgresql.auto.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(settings.utf8))
        try file.close()
        _ = FileManager.default.createFile(atPath: "\(data)/\(signal)", contents: nil)
        if let owner = owner as? String { try await run("/usr/bin/chown", ["-R", owner, data]) }
    }

    private func lend<T>(_ body: (PostgresConnection) async throws -> T) async throws -> T {
        let options = server.options("rehearsal")
        return try await PostgresConnection.lend(options, body)
    }

    private func run(_ executable: String, _ arguments: [String]) async throws {
        let child = try ChildProcess(
            executable: executable, arguments: arguments, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        let end = try await child.waitForEnd(deadline: .hopeless)
        guard end == .exited(code: 0) else { throw PipelineFailure("\(executable): \(end)") }
    }
}
