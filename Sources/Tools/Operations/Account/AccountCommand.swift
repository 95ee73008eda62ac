import AppStore
import Commands
import JSON
import Kafka
import Platform
import Records
import Settings
import Worker

extension ToolCommand {
    static let accountState = ToolCommand(
        "account state",
        "States what became of the offsets that a stage's counts do not cover.\n\n"
            + "Counts begin again where offsets were reset, or copied from another cluster. "
            + "Nobody knows then whether the records before were read: 'reconcile' and 'status' "
            + "name them and end with 1, and the workers' metric unaccounted_offsets raises an "
            + "alert. Where the topic still holds them, set the group back to its beginning "
            + "instead: they are read, and nothing counts twice. This is for records that were "
            + "read elsewhere, or that are lost.\n\n"
            + "The statement is committed with the counts, so stop the stage's workers first: "
            + "Kafka refuses it while the group has members, static ones until their session has "
            + "ended. Exit code 1 when there is nothing to state.",
        options: CommandOption.kafka + [
            CommandOption(
                "stage", argument: "NAME", choices: AccountReader.stages.map(\.name),
                "verify, dedupe, link or entitle. Required."),
            CommandOption(
                "partition", argument: "N", "Only this one; may be given several times. All that need it unless given."),
            CommandOption("reason", argument: "TEXT", "What became of the records. Required."),
            CommandOption("by", argument: "NAME", "Who states it. Required."), .groupPrefix, .config, .json,
        ]
    ) { context in
        let name = try context.required("stage")
        guard let stage = AccountReader.stages.first(where: { $0.name == name }) else {
            throw UsageError("--stage: expected a stage, found \"\(name)\"")
        }
        let now = Timestamp(milliseconds: WallClock.milliseconds)
        let (by, reason) = (try context.required("by"), try context.required("reason"))
        guard let statement = AccountStatement(at: now, by: by, reason: reason) else {
            throw UsageError(
                "expected a line of at most \(AccountStatement.byBytesMax) bytes for --by and "
                    + "\(AccountStatement.reasonBytesMax) for --reason")
        }
        let wanted = try context.arguments.values("partition", as: .int(0...Int(Int32.max)))
        let settings = try context.settings(.kafka)
        let stated = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            try await AccountReader(admin, settings).stating(statement, of: stage).filter {
                wanted.isEmpty || wanted.contains(Int($0.key.partition))
            }
        }
        let group = settings.group(stage)
        try await settings.commit(stated, forGroup: group)
        let partitions = stated.keys.map(\.partition).sorted()
        context.print(
            ["group": group, "partitions": partitions],
            or: "\(group): stated for \(Quantity.counted(partitions.count, "partition"))")
        return partitions.isEmpty ? ExitCode.negative : ExitCode.success
    }
}

extension AccountReader {
    /// The commits to write for a stage whose counts do not begin with the first offset, each with
    /// the statement.
    ///
    /// Counts that are missing or do not add up are replaced by counts from the committed offset.
    func stating(_ statement: AccountStatement, of stage: StageDescription) async throws -> [TopicPartition:
        OffsetCommit]
    {
        let (cluster, committed) = try await commits(of: stage)
        return committed.compactMapValues { commit in
            guard let offset = commit.offset, offset > 0 else { return nil }
            let fresh = StageTally(began: offset)
            var metadata =
                CommitMetadata(commit.metadata, counting: stage.dispositions, in: cluster)
                ?? CommitMetadata(tally: fresh, cluster: cluster)
            if metadata.tally.began + metadata.tally.total != offset {
                (metadata.tally, metadata.statement) = (fresh, nil)
            }
            guard metadata.tally.began > 0, metadata.statement == nil else { return nil }
            metadata.statement = statement
            return OffsetCommit(offset: offset, metadata: metadata.text)
        }
    }
}
