import AppStore
import Commands
import JSON
import Postgres
import Settings

extension ToolCommand {
    static let dedupeForget = ToolCommand(
        "dedupe forget",
        "Makes dedupe-worker forget IDs, so that bodies are processed again.\n\n"
            + "Run it when a topic behind dedupe-worker has lost records: what dedupe-worker "
            + "has forwarded once it drops as a duplicate when it is published again. Let it "
            + "forget what was marked since the loss, and publish the raw bodies again. To "
            + "forget too much costs work and changes nothing: a fact counts once, however "
            + "often it is repeated.\n\n"
            + "Without --yes it only counts. With --yes it deletes in small steps beside the "
            + "running workers; what is marked while it runs stays. With --bundle-id, IDs "
            + "that name no app (renewal infos and notifications) are forgotten too.",
        options: [
            CommandOption("since", argument: "DATE", "Marked at this instant or later, such as 2026-03-02T12:00:00Z."),
            CommandOption("before", argument: "DATE", "Marked before this instant."),
            CommandOption("bundle-id", argument: "ID", "Of this app."),
            CommandOption("environment", argument: "NAME", "Of this environment."),
            CommandOption("all", "All IDs; with none of the above."),
            CommandOption("yes", short: "y", "Forget them; without it they are counted."), .postgres, .config, .json,
        ]
    ) { context in
        let selection = try DedupeSelection(context.arguments)
        let isConfirmed = context.arguments.isSet("yes")
        var progress = ProgressLine(console: context.console)
        let counts = try await context.withDatabase { connection in
            let forgetting = try await DedupeCleaning(selection, on: connection)
            return try await forgetting.run(isDeleting: isConfirmed) { counts in
                let step = isConfirmed ? "forgetting" : "counting"
                progress.show(step, done: counts.total, "ID")
            }
        }
        progress.clear()
        let json: JSONContent = [
            "revisions": counts.revisions, "notifications": counts.notifications, "is_forgotten": isConfirmed,
        ]
        context.print(json) { console in
            let what =
                Quantity.counted(counts.revisions, "revision") + " and "
                + Quantity.counted(counts.notifications, "notification")
            guard isConfirmed else {
                console.print("\(what) would be forgotten")
                return console.note("nothing is forgotten yet: run it again with --yes")
            }
            console.print("\(what) forgotten" + (counts.total > 0 ? ": publish the raw bodies again" : ""))
        }
        return ExitCode.answer(isConfirmed && counts.total > 0)
    }
}

/// The selection of remembered IDs.
struct DedupeSelection: Hashable {
    /// The earliest time of the IDs' marks.
    var since: Timestamp?
    var before: Timestamp?
    var bundleID: Identifier?
    var environment: String?

    init() {}

    init(_ arguments: CommandArguments) throws(UsageError) {
        since = try arguments.value("since", as: .instant)
        before = try arguments.value("before", as: .instant)
        bundleID = arguments.value("bundle-id").map { Identifier($0) }
        let named: AppleEnvironment? = try arguments.value("environment", as: .choice)
        environment = named?.rawValue
        guard arguments.isSet("all") == (self == DedupeSelection()) else {
            throw UsageError("expected --since, --before, --bundle-id or --environment, or --all by itself")
        }
    }
}
