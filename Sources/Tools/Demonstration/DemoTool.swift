package import Commands
import Operations
import Settings
import Simulation

/// The tool `demo` for newcomers: runs the whole pipeline on this machine.
package enum DemoTool {
    static let name = "demo"

    package static let tool = CommandTool(name, settings: ToolSettings.known, commands: [sample, demo])

    private static let demo = ToolCommand(
        syntax: CommandSyntax(
            name,
            "Runs the whole pipeline on this machine and shows what it does.\n\n"
                + "Starts librdkafka's mock cluster, a private PostgreSQL in a temporary folder "
                + "and the four workers as processes of their own, publishes what the ingestion "
                + "services of a small company would on a lively day, good and bad, waits until "
                + "the last record is settled, and compares the result with what the traffic has "
                + "to come to. Everything is stopped and removed at the end. Exit code 1 when the "
                + "result is not as it must be.\n\n"
                + "With --kafka and --postgres it uses servers that are there already and touches "
                + "nothing of theirs: its topics and groups have a prefix of this run's own, and "
                + "it works in a database of its own, which the user has to be allowed to create. "
                + "RDKAFKA_* reaches a cluster that asks for more than an address.\n\n"
                + "'\(name) sample' writes bodies for an app of your own, '\(name) completion' the "
                + "completion of a shell.",
            options: [
                CommandOption("kafka", argument: "HOST:PORT,…", "Bootstrap servers of a Kafka that is there already."),
                CommandOption("postgres", argument: "URL", "A PostgreSQL server that is there already."),
                CommandOption(
                    "count", short: "n", argument: "N",
                    "How many bodies, \(DemoTraffic.bodyCountMin) at least; 2000 unless given."),
                CommandOption(
                    "seed", argument: "N", "The same seed makes the same customers and purchases; 1 unless given."),
                CommandOption(
                    "keep",
                    "Leave everything running until Ctrl-C, to look around, and start the index "
                        + "of dead letters and the auditors' console too."),
                CommandOption(
                    "recovery",
                    "Lose every third notification before it reaches Kafka, and fetch them from a "
                        + "simulated Apple server with recovery-worker."), CommandOption.json, .version,
            ]),
        run: { arguments, context in
            let options = try DemoOptions(arguments)
            return try await Interruption.cancelling { try await DemoRun(options, context).run() }
        })
}
