import Commands
import Foundation
import Kafka
import Records
import Settings
import Topology

extension ToolCommand {
    static let run = ToolCommand(
        "run",
        "Runs the four workers and the index of dead letters until Ctrl-C, for trials.\n\n"
            + "One copy of each, with this command's environment and settings file, and any "
            + "free port for health and metrics, which its log names. All end with this "
            + "command. When one of them ends by itself, its last words are shown and the "
            + "others are stopped: nothing is started again. In production each worker is a service of its own.",
        options: [
            .config,
            CommandOption("logs", argument: "FOLDER", "Where each program writes its log; ./logs unless given."),
        ]
    ) { context in
        let trial = Trial(
            settings: try context.settings(.kafka),
            options: context.arguments.value("config").map { ["--config", $0] } ?? [],
            logs: context.arguments.value("logs") ?? "logs", context: context.process)
        do { try await Interruption.cancelling { try await trial.run() } } catch is CancellationError {}
        return ExitCode.success
    }
}

/// All programs of a pipeline, run as children of this process.
private struct Trial: Sendable {
    static let pause = Duration.seconds(1)

    let settings: SettingsValues
    /// The options of every program.
    let options: [String]
    let logs: String
    let context: CommandContext

    private var commandLines: [(program: String, arguments: [String])] {
        Topology.stages.map { ($0.program, options) } + [("dead-letter", ["index"] + options)]
    }

    /// Runs the programs until an error or a cancellation.
    func run() async throws {
        try ChildPrograms.require(commandLines.map(\.program), in: context.executables)
        try await KafkaAdmin.with(settings.kafkaConfiguration) { admin in
            // Read the account first, so that missing topics are reported before a program starts.
            _ = try await AccountReader(admin, settings).read()
            try await run(admin)
        }
    }

    private func run(_ admin: KafkaAdmin) async throws {
        let children = try ChildPrograms(in: context.executables, logs: logs)
        do {
            var environment = context.environment
            environment["HTTP_PORT"] = "0"
            for (program, arguments) in commandLines {
                try children.start(program, arguments, environment: environment)
            }
            try children.guardAll()
            try await watch(children, admin)
        } catch {
            await Task { await children.stop() }.value
            throw error
        }
    }

    private func watch(_ children: ChildPrograms, _ admin: KafkaAdmin) async throws {
        var progress = ProgressLine(console: context.console)
        defer { progress.clear() }
        while true {
            try children.requireRunning()
            do {
                let reconciliation = try await AccountReader(admin, settings).read()
                progress.show("running, logs in \(logs)", reconciliation.progress)
            } catch let error as KafkaError { progress.show("waiting for Kafka", error.name) }
            try await Task.sleep(for: Self.pause)
        }
    }
}

extension Reconciliation {
    /// The progress as text: `verify 1,200 of 2,000, dedupe 1,100 of 1,190`.
    package var progress: String {
        stages.map { stage in "\(stage.stage.name) \(Quantity.grouped(stage.settled)) of " + Quantity.grouped(stage.end)
        }.joined(separator: ", ")
    }
}
