import Kafka
import JSON
import Records
import Settings
import Topology
import Worker

extension ToolCommand {
    static let recoverOffsets = ToolCommand(
        "recover offsets",
        "Has stages read their topics again, after their database was restored or lost.\n\n"
            + "A database that was restored to an instant lacks what the groups have "
            + "committed since. This sets the groups of dedupe, link and entitle, or those "
            + "that --stage names, back to what was written at that instant or later. It "
            + "never sets a group forward. Too early costs work and changes nothing: a fact "
            + "counts once, however often it is read.\n\n"
            + "Stop the workers first: Kafka refuses it while a group has members, static ones "
            + "until their session has ended. Counts restart, and so do the chains of dead "
            + "letters (`dead-letter verify` reports `restarted`). Without --yes it only shows "
            + "what it would do.",
        options: CommandOption.kafka + [
            CommandOption(
                "to",
                argument: "DATE",
                "The instant, such as 2026-03-02T12:00:00Z; some minutes before the restored "
                    + "one, for clocks that differ."
            ),
            CommandOption("beginning", "To all that the topics hold, instead of --to."),
            CommandOption(
                "stage",
                argument: "NAME",
                choices: Topology.stages.map(\.name),
                "verify, dedupe, link or entitle; may be given several times."
            ),
            CommandOption("yes", short: "y", "Commit the offsets."),
            .groupPrefix, .config, .json,
        ]
    ) { context in
        let instant = try context.arguments.value("to", as: .instant)
        guard (instant != nil) != context.arguments.isSet("beginning") else {
            throw UsageError("expected --to DATE or --beginning")
        }
        let stages = try stages(context.arguments)
        let settings = try context.settings(.kafka)
        let isConfirmed = context.arguments.isSet("yes")
        let rewinding = GroupRewinding(settings: settings, instant: instant)
        let rewinds = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            var rewinds: [GroupRewind] = []
            for stage in stages {
                rewinds.append(try await rewinding.plan(stage, admin))
            }
            return rewinds
        }
        if isConfirmed {
            for rewind in rewinds {
                try await rewinding.commit(rewind)
            }
        }
        show(rewinds, isCommitted: isConfirmed, context)
        return ExitCode.answer(isConfirmed)
    }

    private static func stages(
        _ arguments: CommandArguments
    ) throws(UsageError) -> [StageDescription] {
        let names = arguments.values("stage")
        guard !names.isEmpty else { return [.dedupe, .link, .entitle] }
        for name in names where !Topology.stages.contains(where: { $0.name == name }) {
            throw UsageError("--stage: expected verify, dedupe, link or entitle, found \"\(name)\"")
        }
        return Topology.stages.filter { names.contains($0.name) }
    }

    private static func show(
        _ rewinds: [GroupRewind],
        isCommitted: Bool,
        _ context: OperatorContext
    ) {
        let groups = rewinds.map { rewind -> JSONContent in
            [
                "group": rewind.group, "partitions": rewind.offsets.count,
                "records": rewind.recordCount,
            ]
        }
        context.print(["groups": groups, "is_committed": isCommitted]) { console in
            for rewind in rewinds {
                let verb = isCommitted ? "will be read again" : "would be read again"
                console.print(
                    "\(rewind.group): \(Quantity.counted(rewind.recordCount, "record")) of "
                        + "\(Quantity.counted(rewind.offsets.count, "partition")) \(verb)"
                )
            }
            if !isCommitted {
                console.note("nothing is committed yet: stop the workers, and run it with --yes")
            }
        }
    }
}
