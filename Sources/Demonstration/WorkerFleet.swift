import Foundation
import Operations
import Settings
import Simulation
import Topology
import Worker

/// The four workers, each a process of its own as in production.
struct WorkerFleet: Sendable {
    private struct Member {
        let stage: StageDescription
        let process: ChildProcess
    }

    /// The variables that a worker inherits from this process, beside those that lead to Kafka and
    /// PostgreSQL; no other one may change the demo's settings.
    private static let inherited: Set = ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"]
    private static let stopGrace = Duration.seconds(30)

    private let members: [Member]
    private let folder: DemoFolder

    /// Starts all four; when one cannot be started, those before it are left to `stop`.
    ///
    /// - Parameters:
    ///   - executables: the folder that holds the workers' programs.
    ///   - settings: the JSON file that all of them read.
    ///   - inheriting: what names of further variables that the workers may see begin with.
    init(
        executables: String,
        settings: String,
        folder: DemoFolder,
        environment: [String: String],
        inheriting prefixes: [String]
    ) throws {
        try Self.requirePrograms(in: executables)
        let inherited = environment.filter { name, _ in
            Self.inherited.contains(name) || prefixes.contains(where: name.hasPrefix)
        }
        self.folder = folder
        members = try Topology.stages.map { stage in
            let log = ChildProcess.Output.file(path: folder.path(of: Self.log(of: stage)))
            return Member(
                stage: stage,
                process: try ChildProcess(
                    executable: "\(executables)/\(stage.program)",
                    arguments: ["--config", settings],
                    environment: inherited,
                    standardOutput: log,
                    standardError: log
                )
            )
        }
    }

    static func log(of stage: StageDescription) -> String {
        "\(stage.program).log"
    }

    /// Fails when a worker has ended, with its last words.
    func requireRunning() throws(CommandError) {
        guard let ended = members.first(where: { !$0.process.isRunning }) else { return }
        throw CommandError(
            ExitCode.software,
            "\(ended.stage.program) has ended (\(ended.process.howItEnded)):\n"
                + lastWords(of: ended.stage).map { "  \($0)" }.joined(separator: "\n")
        )
    }

    /// The last lines of a worker's log.
    func lastWords(of stage: StageDescription) -> [String] {
        folder.lastLines(of: Self.log(of: stage), count: 5)
    }

    /// Tells all to finish and waits for them.
    ///
    /// - Returns: the stages whose worker did not end as it should.
    func stop() async -> [StageDescription] {
        for member in members {
            member.process.terminate()
        }
        var failed: [StageDescription] = []
        for member in members {
            let end = try? await member.process.stop(grace: Self.stopGrace)
            if end != .exited(code: 0) {
                failed.append(member.stage)
            }
        }
        return failed
    }

    private static func requirePrograms(in folder: String) throws(CommandError) {
        let missing = Topology.stages.map(\.program).filter { program in
            !FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)")
        }
        guard missing.isEmpty else {
            throw CommandError(
                ExitCode.unavailable,
                "\(missing.joined(separator: ", ")) not found in \(folder): build all of the "
                    + "package with 'swift build'"
            )
        }
    }
}

extension ChildProcess {
    fileprivate var howItEnded: String {
        switch end {
        case .exited(let code)?: "exit code \(code)"
        case .signalled(let number)?: "signal \(number)"
        case nil: "still running"
        }
    }
}
