import AppStore
package import DeadLetters
import Foundation
import HTTP
package import Postgres
package import Settings
import Store
import Telemetry

/// The listening server of the console.
package final class ConsoleService: Sendable {
    private let server: HTTPServer
    private let runs: ReplayRuns
    private let watching: Task<Void, Never>
    package let url: String

    package var port: UInt16 { server.port }

    /// Begins to listen and to walk the hash chains; the servers need not answer yet.
    ///
    /// - Parameter database: the client for the pages' data, which the caller closes.
    /// - Throws: `SettingsError` if the password file is invalid, `CommandError` if the console cannot listen.
    package init(
        _ values: SettingsValues, database: PostgresClient, topic: DeadLetterTopic, replays: Replays, chains: ChainWatch
    ) throws {
        let log = Log(JSONLogHandler(level: values[WorkerSettings.logLevel]))
        runs = ReplayRuns(replays, log: log)
        let sources = ConsoleSources(
            database: database, topic: topic, runs: runs, chains: chains,
            now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) })
        let address = values[ConsoleSettings.address]
        let origin = RequestOrigin(
            publicURL: values[ConsoleSettings.publicURL].flatMap(PublicURL.init), address: address)
        let console = try AuditConsole(values, origin: origin, routes: sources.routes, database: database, log: log)
        do {
            server = try HTTPServer(
                address: address, port: UInt16(values[ConsoleSettings.port]), limits: Self.limits,
                answer: { await console.answer($0) })
        } catch { throw CommandError(ExitCode.unavailable, "\(error)") }
        watching = Task { await chains.run(now: sources.now, log: log) }
        origin.listens(on: server.port)
        let host = address.contains(":") ? "[\(address)]" : address
        url = values[ConsoleSettings.publicURL] ?? "http://\(host):\(server.port)"
    }

    /// The limits of a server behind a proxy, where all users share an address.
    private static let limits: HTTPLimits = {
        var limits = HTTPLimits.standard
        limits.connectionsMax = 256
        limits.connectionsPerAddressMax = 128
        limits.requestDurationMax = .seconds(180)
        return limits
    }()

    /// Reads the settings of the console, and reports every problem.
    package static func read(environment: [String: String], file: SettingsFile? = nil) throws(SettingsError)
        -> SettingsValues
    {
        let values = try schema.read(environment: environment, file: file)
        let problems = ConsoleSettings.problems(values)
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return values
    }

    static let schema = SettingsSchema(
        ConsoleSettings.declarations + [WorkerSettings.logLevel.declaration], ignoresUnknown: true)

    /// Closes all connections, and ends the running replays in order.
    package func stop() async {
        server.stop()
        watching.cancel()
        await runs.stopAll()
    }
}
