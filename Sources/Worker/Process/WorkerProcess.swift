import Foundation
import HTTP
import Kafka
package import Settings

/// A worker's executable from its command line to its exit code.
package enum WorkerProcess {
    /// Reads the settings, builds the worker and runs it until SIGTERM or SIGINT.
    package static func run(_ program: WorkerProgram) async -> Int32 {
        MemoryPolicy.apply()
        let process = ProcessInfo.processInfo
        let launch = ServiceLaunch.read(
            program: program.stage.program,
            summary: program.summary,
            schema: program.schema,
            arguments: Array(process.arguments.dropFirst()),
            environment: process.environment,
            problems: { problems(program, $0) }
        )
        switch launch {
        case .finish(let outcome): return end(outcome)
        case .run(let settings, let source): return await run(program, settings, source)
        }
    }

    /// Everything that only the whole of the settings shows to be wrong.
    package static func problems(
        _ program: WorkerProgram,
        _ settings: SettingsValues
    ) -> [SettingProblem] {
        WorkerSettings.problems(settings) + program.problems(settings)
    }

    private static func run(
        _ program: WorkerProgram,
        _ settings: SettingsValues,
        _ source: SettingsSource
    ) async -> Int32 {
        let handler = JSONLogHandler(level: settings[WorkerSettings.logLevel])
        let name = program.stage.program
        do {
            let service = try WorkerService(program, settings, source, log: handler)
            let signals = ProcessSignals(
                stop: {
                    service.stop()
                    ShutdownLimit.begin(
                        budget: settings[WorkerSettings.shutdownBudget],
                        service.log
                    )
                },
                reload: { service.reload() }
            )
            defer { signals.cancel() }
            try await service.run()
            return ExitCode.success
        } catch let error as SettingsError {
            let lines = error.problems.map { "  \($0)\n" }.joined()
            let count = error.problems.count
            return end(
                CommandOutcome(
                    exitCode: ExitCode.configuration,
                    errors: "\(name): \(count) problem(s) with the settings\n\(lines)"
                )
            )
        } catch let error as KafkaError {
            return end(
                CommandOutcome(
                    exitCode: ExitCode.configuration,
                    errors: "\(name): \(error)\n"
                )
            )
        } catch {
            return end(
                CommandOutcome(exitCode: ExitCode.unavailable, errors: "\(name): \(error)\n")
            )
        }
    }

    private static func end(_ outcome: CommandOutcome) -> Int32 {
        if !outcome.output.isEmpty {
            Console.standard.print(text: outcome.output)
        }
        if !outcome.errors.isEmpty {
            Console.standard.note(outcome.errors)
        }
        return outcome.exitCode
    }
}
