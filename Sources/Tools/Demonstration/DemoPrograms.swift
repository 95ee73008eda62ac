import Foundation
import Operations
import Settings
import Simulation

/// The programs of a demo, each a separate process as in production.
struct DemoPrograms: Sendable {
    private struct Member {
        let name: String
        let process: ChildProcess
    }

    /// The variables that a program inherits from this process, in addition to those for Kafka and PostgreSQL.
    ///
    /// Other variables are removed, because they could change the demo's settings.
    private static let inherited: Set = ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"]
    private static let stopGrace = Duration.seconds(30)

    private let executables: String
    private let folder: DemoFolder
    private let environment: [String: String]
    private var members: [Member] = []

    /// - Parameters:
    ///   - executables: the folder of the programs.
    ///   - names: the programs that must exist.
    ///   - inheriting: prefixes of further variables that the programs inherit.
    init(
        in executables: String, requiring names: [String], folder: DemoFolder, environment: [String: String],
        inheriting prefixes: [String]
    ) throws(CommandError) {
        try ChildPrograms.require(names, in: executables)
        self.executables = executables
        self.folder = folder
        self.environment = environment.filter { name, _ in
            Self.inherited.contains(name) || prefixes.contains(where: name.hasPrefix)
        }
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: the name for the log and messages; by default the program's name.
    ///   - settings: the settings of only this program, by environment name.
    mutating func start(
        _ program: String, _ arguments: [String], as name: String? = nil, environment settings: [String: String] = [:]
    ) throws {
        let name = name ?? program
        let log = ChildProcess.Output.file(path: folder.path(of: Self.log(of: name)))
        let process = try ChildProcess(
            executable: "\(executables)/\(program)", arguments: arguments,
            environment: environment.merging(settings) { $1 }, standardOutput: log, standardError: log)
        members.append(Member(name: name, process: process))
    }

    private static func log(of name: String) -> String { "\(name).log" }

    /// Throws an error with the last lines of its log if a program has ended.
    func requireRunning() throws(CommandError) {
        for member in members {
            guard let end = member.process.end else { continue }
            throw CommandError(
                ExitCode.software,
                "\(member.name) has ended (\(end)):\n"
                    + lastWords(of: member.name).map { "  \($0)" }.joined(separator: "\n"))
        }
    }

    /// The last lines of a program's log.
    func lastWords(of name: String, count: Int = 5) -> [String] {
        folder.lastLines(of: Self.log(of: name), count: count)
    }

    /// Asks all programs to finish and waits for them.
    ///
    /// - Returns: the programs that did not end normally.
    func stop() async -> [String] {
        for member in members { member.process.terminate() }
        var failed: [String] = []
        for member in members {
            let end = try? await member.process.stop(grace: Self.stopGrace)
            if end != .exited(code: 0) { failed.append(member.name) }
        }
        return failed
    }
}
