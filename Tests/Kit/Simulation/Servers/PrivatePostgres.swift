import Foundation
import Platform
package import Postgres

/// A private PostgreSQL server: in a temporary folder, on a free port of 127.0.0.1, with a random
/// password.
///
/// Started from the installed programs, without systemd; as root it runs as user `postgres` (or
/// `nobody`), since `initdb` refuses root. `remove()` deletes the folder; server and folder are
/// also removed when this process dies.
package actor PrivatePostgres {
    /// The settings that differ between a throw-away server for tests and one to measure on.
    ///
    /// Everything else is PostgreSQL's default, so that plans and times are those of any server.
    package struct Configuration: Sendable {
        /// Whether data survives a power cut; `false` turns `fsync` and `full_page_writes` off.
        package var isDurable = false

        /// Further lines of `postgresql.conf`, which override our own.
        package var settings: [String: String] = [:]

        package init() {}
    }

    /// The mode of a shutdown (manual, "Shutting Down the Server").
    package enum StopMode: Sendable {
        /// Ends all connections and writes everything out.
        case fast
        /// Ends all processes at once; the next start recovers from the log.
        case immediate

        var signal: Int32 {
            switch self {
            case .fast: SIGINT
            case .immediate: SIGQUIT
            }
        }
    }

    /// The port on 127.0.0.1, the same after a restart.
    package nonisolated var port: UInt16 { reserved.number }
    private nonisolated let reserved: ReservedPort
    private let cluster: PostgresCluster
    private let configuration: Configuration
    private var server: ChildProcess?

    /// Makes a cluster and starts its server.
    package static func start(_ configuration: Configuration = Configuration()) async throws -> PrivatePostgres {
        let cluster = try await PostgresCluster.make()
        do {
            let server = PrivatePostgres(cluster, try ReservedPort(), configuration)
            try await server.start()
            return server
        } catch {
            cluster.remove()
            throw error
        }
    }

    /// Lends a server to `body` and removes it afterwards, however that ends.
    package static func lend<Value>(
        _ configuration: Configuration = Configuration(), _ body: (PrivatePostgres) async throws -> Value
    ) async throws -> Value {
        let server = try await start(configuration)
        return try await closing {
            try await server.remove()
        } after: {
            try await body(server)
        }
    }

    private init(_ cluster: PostgresCluster, _ reserved: ReservedPort, _ configuration: Configuration) {
        self.cluster = cluster
        self.reserved = reserved
        self.configuration = configuration
    }

    /// The connection string of a database of this server, with the password.
    package nonisolated func connectionString(database: String = "postgres") -> String {
        "postgresql://postgres:\(cluster.password)@127.0.0.1:\(port)/\(database)"
    }

    package nonisolated func options(_ applicationName: String, database: String = "postgres") -> PostgresOptions {
        PostgresOptions(connectionString: connectionString(database: database), applicationName: applicationName)
    }

    /// The postmaster's process ID.
    ///
    /// `nil` while the server is stopped.
    package var processID: Int32? { server?.isRunning == true ? server?.processID : nil }

    /// Starts the server again after a stop, on the same port.
    package func start() async throws {
        precondition(processID == nil, "this server runs already")
        let command = cluster.command("postgres", ["-D", cluster.data] + settings)
        let server = try ChildProcess(
            executable: command[0], arguments: Array(command.dropFirst()), environment: PostgresCluster.environment,
            standardError: .file(path: cluster.log), signalOnOurDeath: "QUIT")
        self.server = server
        try await waitUntilReady(server)
    }

    package func stop(_ mode: StopMode = .fast) async throws {
        try await server?.stop(grace: Self.stopDeadline, signal: mode.signal)
        server = nil
    }

    /// Stops the server and deletes its folder.
    package func remove() async throws {
        try await stop(.immediate)
        cluster.remove()
    }

    private static let stopDeadline = Duration.seconds(30)
    private static let startDeadline = Duration.seconds(60)

    private var settings: [String] {
        var settings = [
            "port": "\(port)", "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "wal_level": "minimal",
            "max_wal_senders": "0", "log_min_messages": "error", "log_min_error_statement": "panic",
        ]
        if !configuration.isDurable {
            settings["fsync"] = "off"
            settings["full_page_writes"] = "off"
        }
        settings.merge(configuration.settings) { $1 }
        return settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }

    private func waitUntilReady(_ server: ChildProcess) async throws {
        let end = ContinuousClock.now + Self.startDeadline
        var options = options("private-postgres")
        options.connectDeadline = .seconds(5)
        while server.isRunning, ContinuousClock.now < end {
            if let connection = try? await PostgresConnection.connect(options) {
                await connection.close()
                return
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        try await server.stop(grace: .zero)
        self.server = nil
        throw LocalServerError("PostgreSQL did not start: \(cluster.endOfLog)")
    }
}

/// The reason for which a server or a process on this machine did not start or stop.
package struct LocalServerError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) { self.message = message }

    init(_ message: String, errno code: Int32) { self.message = "\(message): \(String(cString: strerror(code)))" }

    package var description: String { message }
}
