import Dispatch
import Glibc
import HTTP
import Kafka
import Platform
import Records
package import Settings
import Telemetry

/// A worker's executable from its command line to its exit code.
package enum WorkerProcess {
    /// Reads the settings, builds the worker and runs it until SIGTERM or SIGINT.
    package static func run(_ program: WorkerProgram) async -> Int32 {
        let launch = ServiceLaunch.read(
            program: program.stage.program, summary: program.summary, schema: program.schema,
            arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessEnvironment.variables,
            problems: { problems(program, $0) })
        switch launch {
        case .finish(let outcome): return outcome.finish()
        case .connect(let settings, let outcome):
            _ = outcome.finish()
            let found = await findings(program, settings).outcome(of: program.stage.program)
            return CommandOutcome(exitCode: found.exitCode, output: "\n" + found.output, errors: found.errors).finish()
        case .run(let settings, let source): return await run(program, settings, from: source)
        }
    }

    /// The problems that only the combination of all settings shows.
    package static func problems(_ program: WorkerProgram, _ settings: SettingsValues) -> [SettingProblem] {
        WorkerSettings.problems(settings) + program.problems(settings)
    }

    /// Tests the connections to Kafka and to the stage's servers, for `--check --connect`.
    package static func findings(_ program: WorkerProgram, _ settings: SettingsValues) async -> [ConnectionFinding] {
        await KafkaCheck.findings(settings, program.stage) + program.connections(settings)
    }

    /// Runs a worker with these settings until SIGTERM or SIGINT.
    ///
    /// - Parameter ended: a function whose return stops the worker; `nil` for a worker without an end.
    package static func run(
        _ program: WorkerProgram, _ settings: SettingsValues, from source: SettingsSource,
        until ended: (@Sendable () async -> Void)? = nil
    ) async -> Int32 {
        MemoryPolicy.apply()
        let handler = JSONLogHandler(level: settings[WorkerSettings.logLevel])
        let name = program.stage.program
        do {
            let service = try WorkerService(program, settings, from: source, log: handler)
            for slip in source.slips { service.log.warning("unknown variable, ignored", ["variable": "\(slip)"]) }
            for file in source.exposures(settings) {
                service.log.warning("file of a secret that every user may read", ["file": .string(file.setting)])
            }
            let signals = ProcessSignals(
                stop: {
                    service.stop()
                    ShutdownLimit.begin(budget: settings[WorkerSettings.shutdownBudget], service.log)
                }, reload: { service.reload() })
            defer { signals.cancel() }
            let ending = ended.map { ended in
                Task {
                    await ended()
                    service.stop()
                }
            }
            defer { ending?.cancel() }
            try await service.run()
            return ExitCode.success
        } catch let error as SettingsError {
            let lines = error.problems.map { "  \($0)\n" }.joined()
            let count = error.problems.count
            return CommandOutcome(
                exitCode: ExitCode.configuration, errors: "\(name): \(count) problem(s) with the settings\n\(lines)"
            ).finish()
        } catch let error as KafkaError {
            return CommandOutcome(exitCode: ExitCode.configuration, errors: "\(name): \(error)\n").finish()
        } catch { return CommandOutcome(exitCode: ExitCode.unavailable, errors: "\(name): \(error)\n").finish() }
    }
}

/// Signal handlers that call functions, instead of ending the process.
final class ProcessSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - stop: called at each SIGTERM and SIGINT, on a thread of Dispatch.
    ///   - reload: called at each SIGHUP, on a thread of Dispatch.
    init(stop: @escaping @Sendable () -> Void, reload: @escaping @Sendable () -> Void) {
        sources = [(SIGTERM, stop), (SIGINT, stop), (SIGHUP, reload)].map { number, call in
            // Dispatch receives a signal only if its default action is disabled.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: call)
            source.resume()
            return source
        }
        // A peer that closes its connection causes an error of that write, and must not end the process.
        signal(SIGPIPE, SIG_IGN)
    }

    func cancel() { for source in sources { source.cancel() } }
}

/// A limit that exits the process if its orderly shutdown takes too long.
///
/// A broker or a database that keeps its connections but never answers would delay the exit by the sum of all
/// deadlines. The exit loses nothing: uncommitted records are read again, as after any other end.
enum ShutdownLimit {
    /// Time for leaving the group and closing the clients, in addition to the time for batches in flight.
    ///
    /// The whole shutdown ends within the 30 s that Kubernetes allows, if the budget is the default.
    private static let closing = Duration.seconds(8)

    /// Starts the time limit.
    ///
    /// Any thread may call this, also more than once.
    static func begin(budget: Duration, _ log: Log) {
        let limit = budget + closing
        let queue = DispatchQueue.global(qos: .userInitiated)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1)))) {
            log.error("shutdown timed out, exiting", ["shutdown.limit_seconds": .seconds(limit)])
            _exit(ExitCode.unavailable)
        }
    }
}
