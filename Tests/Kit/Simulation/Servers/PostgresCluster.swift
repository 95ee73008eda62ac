import Foundation

/// The files of a private server: a temporary folder that is deleted when this process dies.
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
            password: UUID().uuidString, folder: FileManager.default.temporaryDirectory.appending(path: name).path,
            binaries: try PostgresBinaries.find(), user: try UnprivilegedUser.needed())
        do {
            try cluster.makeFolder()
            try await cluster.initialize()
        } catch {
            cluster.remove()
            throw error
        }
        return cluster
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// A command line that runs one of PostgreSQL's programs as the user it needs.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        (user?.commandPrefix ?? []) + ["\(binaries.folder)/\(program)"] + arguments
    }

    /// The environment of the server, without this process's own.
    ///
    /// `PGDATA` or a locale that is not installed would change the server, which must be the same
    /// on every machine.
    static let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"]

    /// The last lines of the log of the server or `initdb`, for an error.
    var endOfLog: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? "no log was written"
        return String(text.suffix(Self.logCharactersMax))
    }

    private static let logCharactersMax = 1000
    private static let initializeDeadline = Duration.seconds(120)

    private func makeFolder() throws {
        try ProcessWatchdog.shared.guardFolder(folder)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try user?.takeOwnership(ofPath: folder)
    }

    private func initialize() async throws {
        let passwordFile = folder + "/password"
        try Data(password.utf8).write(to: URL(filePath: passwordFile))
        try user?.takeOwnership(ofPath: passwordFile)
        let command = command(
            "initdb",
            [
                "--pgdata=\(data)", "--username=postgres", "--pwfile=\(passwordFile)", "--auth=scram-sha-256",
                "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
            ])
        let child = try ChildProcess(
            executable: command[0], arguments: Array(command.dropFirst()), environment: Self.environment,
            standardOutput: .file(path: log), standardError: .file(path: log))
        let end = try await child.stop(afterAtMost: Self.initializeDeadline)
        try FileManager.default.removeItem(atPath: passwordFile)
        guard end == .exited(code: 0) else { throw LocalServerError("initdb failed: \(endOfLog)") }
    }
}

extension ChildProcess {
    /// Waits for a program that should end by itself, and kills it at the deadline.
    fileprivate func stop(afterAtMost deadline: Duration) async throws -> ProcessEnd {
        do { return try await waitForEnd(deadline: deadline) } catch {
            kill()
            throw error
        }
    }
}

/// The folder of PostgreSQL's server programs on this machine.
package struct PostgresBinaries: Hashable, Sendable {
    package let folder: String

    /// Finds the programs of the newest version.
    ///
    /// Debian keeps them out of the path, in one folder per major version.
    ///
    /// - Throws: an error that names the package to install.
    package static func find() throws -> PostgresBinaries {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = debianFolders() + path.split(separator: ":").map(String.init)
        let complete = folders.first { folder in
            ["initdb", "postgres"].allSatisfy { name in
                FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)")
            }
        }
        guard let complete else {
            throw LocalServerError(
                "PostgreSQL's server programs (initdb, postgres) are neither under"
                    + " /usr/lib/postgresql nor in the PATH; on Debian: apt-get install postgresql")
        }
        return PostgresBinaries(folder: complete)
    }

    private static func debianFolders() -> [String] {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap(Int.init).sorted(by: >).map { "\(root)/\($0)/bin" }
    }
}

/// The user that PostgreSQL runs as when this process is root, as it refuses to run as root.
struct UnprivilegedUser {
    let name: String
    private let userID: uid_t
    private let groupID: gid_t

    /// The user to run as.
    ///
    /// `nil` if this process is not root and needs no other user.
    static func needed() throws -> UnprivilegedUser? {
        if geteuid() != 0 { return nil }
        for name in ["postgres", "nobody"] {
            if let entry = getpwnam(name) {
                return UnprivilegedUser(name: name, userID: entry.pointee.pw_uid, groupID: entry.pointee.pw_gid)
            }
        }
        throw LocalServerError("as root, PostgreSQL needs a user `postgres` or `nobody` to run as")
    }

    func takeOwnership(ofPath path: String) throws {
        guard chown(path, userID, groupID) == 0 else {
            throw LocalServerError("cannot give \(path) to user \(name)", errno: errno)
        }
    }

    /// The prefix of a command that runs it as this user, in a folder that the user may read.
    ///
    /// Both programs replace themselves, so that the process identifier is the command's own.
    var commandPrefix: [String] {
        [
            "/usr/bin/env", "--chdir=/", "/usr/bin/setpriv", "--reuid=\(userID)", "--regid=\(groupID)",
            "--clear-groups", "--",
        ]
    }
}
