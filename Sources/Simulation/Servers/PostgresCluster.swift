import Foundation

/// The files of a private server: a temporary folder that goes when this process dies.
struct PostgresCluster: Sendable {
    let password: String
    private let folder: String
    private let binaries: PostgresBinaries
    private let user: UnprivilegedUser?

    var data: String { folder + "/data" }
    var log: String { folder + "/server.log" }

    /// Runs `initdb`.
    static func make() async throws -> PostgresCluster {
        let name = "private-postgres-\(UUID().uuidString)"
        let cluster = PostgresCluster(
            password: UUID().uuidString,
            folder: FileManager.default.temporaryDirectory.appending(path: name).path,
            binaries: try PostgresBinaries.find(),
            user: try UnprivilegedUser.needed()
        )
        do {
            try cluster.makeFolder()
            try await cluster.initialize()
        } catch {
            cluster.remove()
            throw error
        }
        return cluster
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// A command line that runs one of PostgreSQL's programs as the user it needs.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        (user?.commandPrefix ?? []) + ["\(binaries.folder)/\(program)"] + arguments
    }

    /// Without our own variables: `PGDATA` or a locale that is not installed would change a server
    /// that is to be the same everywhere.
    static let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"]

    /// What the server or `initdb` said last, for an error.
    var endOfLog: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? "no log was written"
        return String(text.suffix(Self.logCharactersMax))
    }

    private static let logCharactersMax = 1000
    private static let initializeDeadline = Duration.seconds(120)

    private func makeFolder() throws {
        try ProcessWatchdog.shared.guardFolder(folder)
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        try user?.takeOwnership(ofPath: folder)
    }

    private func initialize() async throws {
        let passwordFile = folder + "/password"
        try Data(password.utf8).write(to: URL(filePath: passwordFile))
        try user?.takeOwnership(ofPath: passwordFile)
        let command = command(
            "initdb",
            [
                "--pgdata=\(data)", "--username=postgres", "--pwfile=\(passwordFile)",
                "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
                "--no-instructions",
            ]
        )
        let child = try ChildProcess(
            executable: command[0],
            arguments: Array(command.dropFirst()),
            environment: Self.environment,
            standardOutput: .file(path: log),
            standardError: .file(path: log)
        )
        let end = try await child.stop(afterAtMost: Self.initializeDeadline)
        try FileManager.default.removeItem(atPath: passwordFile)
        guard end == .exited(code: 0) else {
            throw LocalServerError("initdb failed: \(endOfLog)")
        }
    }
}

extension ChildProcess {
    /// Waits for a program that ends by itself, and kills it where it does not.
    fileprivate func stop(afterAtMost deadline: Duration) async throws -> ProcessEnd {
        do {
            return try await waitForEnd(deadline: deadline)
        } catch {
            kill()
            throw error
        }
    }
}
