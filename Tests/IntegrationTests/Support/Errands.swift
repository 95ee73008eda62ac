import Foundation
import Simulation
import TestSupport
import Testing

/// Commands run beside the workers, each with its own principal and role.
struct Errands: Sendable {
    let holders: Holders
    let pipeline: RunningPipeline

    /// A command, and its expected end.
    struct Errand {
        let holder: String
        let arguments: [String]
        let exitCode: Int32
        /// Texts that the output must contain.
        let says: [String]

        /// - Parameter arguments: with blanks between them.
        init(_ holder: String, _ arguments: String, exitCode: Int32 = 0, says: [String] = []) {
            self.holder = holder
            self.arguments = arguments.split(separator: " ").map(String.init)
            self.exitCode = exitCode
            self.says = says
        }
    }

    /// The workers' own file, which holds topics, groups, apps and the catalog.
    var settingsPath: String { "\(pipeline.folder)/settings.json" }

    func expect(_ errands: [Errand], of program: String) async throws {
        for errand in errands {
            let ended = try await run(program, errand.arguments, as: errand.holder)
            let what = "\(errand.holder): \(errand.arguments.joined(separator: " ")): \(ended)"
            #expect(ended.exitCode == errand.exitCode, "\(what)")
            for text in errand.says { #expect(ended.output.contains(text), "\(text) is not said: \(what)") }
        }
    }

    /// - Parameter role: in the database, if it differs from the holder's name.
    func run(_ program: String, _ arguments: [String], as holder: String, role: String? = nil) async throws
        -> BuiltTool.Outcome
    { try await BuiltTool.run(program, arguments + ["--config", settingsPath], try environment(holder, role: role)) }

    /// A console with a holder's rights; its user may do everything that a console can.
    func serve(as holder: String) async throws -> (tool: RunningTool, client: ConsoleClient) {
        let tool = try RunningTool(
            ["serve", "--config", settingsPath], folder: pipeline.folder,
            environment: try environment(holder).merging(RunningTool.consoleSettings) { $1 })
        return (tool, try await tool.consoleClient())
    }

    private func environment(_ holder: String, role: String? = nil) throws -> [String: String] {
        var environment = try holders.environment(holder)
        if let role {
            let other = try holders.environment(role)
            for name in ["DATABASE_URL", "DATABASE_PASSWORD"] { environment[name] = other[name] }
        }
        environment["USER"] = holder
        return environment
    }
}

/// A command of `dead-letter` that runs until it is stopped.
struct RunningTool: Sendable {
    let process: ChildProcess
    private let logPath: String

    init(_ arguments: [String], folder: String, environment: [String: String]) throws {
        logPath = "\(folder)/dead-letter-\(UUID().uuidString).txt"
        process = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/dead-letter", arguments: arguments,
            environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 },
            standardOutput: .file(path: logPath), standardError: .file(path: logPath))
    }

    /// The output so far.
    var output: String { String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self) }

    /// Ends it, and fails if it does not end in order.
    func stop() async throws {
        let end = try await process.stop(grace: .hopeless)
        #expect(end == .exited(code: 0), "\(output)")
    }
}

extension RunningTool {
    /// Settings of a console that trusts the test as if it were the proxy that signs in.
    static let consoleSettings = [
        "CONSOLE_PORT": "0", "CONSOLE_PROXY_ADDRESSES": "127.0.0.1", "CONSOLE_PROXY_ROLES": "oncall=operator",
    ]

    /// A browser at this console, whose user may do everything that a console can.
    func consoleClient() async throws -> ConsoleClient {
        var port: UInt16?
        _ = await becomesTrue(within: .seconds(60), every: .milliseconds(50)) {
            let mark = output.firstMatch(of: /the console is at http:\/\/127\.0\.0\.1:(\d+)/)
            port = mark.flatMap { UInt16($0.1) }
            return port != nil || !process.isRunning
        }
        guard let port else { throw PipelineFailure("the console does not listen: \(output)") }
        return ConsoleClient(port: port, headers: ["X-Forwarded-User: otto", "X-Forwarded-Groups: oncall"])
    }
}
