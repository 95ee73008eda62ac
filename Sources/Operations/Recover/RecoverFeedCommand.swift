import JSON
import Records
import Settings
import Store

extension ToolCommand {
    /// `pipeline recover feed`.
    static let recoverFeed = ToolCommand(
        syntax: CommandSyntax(
            "\(PipelineTool.name) recover feed",
            "Has each user's versions in the change feed go on above all that was published.\n\n"
                + "After a database was restored or lost, and before the workers start: it would "
                + "give out versions again that readers of the feed know and pass over. Reads the "
                + "feed's topics to their end. May be run twice, beside running workers too.\n\n"
                + "With --republish, the newest states of all users are published again, for a "
                + "new cluster whose topics are empty; that needs a running entitle-worker.",
            options: CommandOption.kafka + [
                CommandOption("republish", "Publish the newest states of all users again."),
                ToolSettings.postgresOption, CommandOption.config, CommandOption.json,
            ]
        ),
        run: recoverFeed
    )

    private static func recoverFeed(
        _ arguments: CommandArguments,
        _ context: CommandContext
    ) async throws -> Int32 {
        let settings = try ToolSettings.read(
            arguments,
            context.environment,
            [.kafka, .database]
        )
        var progress = ProgressLine(console: context.console)
        let recovery = FeedVersions(settings)
        let published = try await recovery.published { topic, done, total in
            progress.show("reading \(topic)", done: done, of: total, "record")
        }
        let raised = try await settings.withDatabase { connection in
            try await recovery.raise(published, on: connection) { count in
                let total = published.count
                progress.show("comparing versions", done: count, of: total, "user")
            }
        }
        var queued: Int64 = 0
        if arguments.isSet("republish") {
            queued = try await settings.withDatabase { connection in
                try await recovery.republish(on: connection) { count in
                    progress.show("republishing", done: count, "user")
                }
            }
        }
        progress.clear()
        guard !arguments.isSet("json") else {
            let result: JSONContent = [
                "published": published.count, "raised": raised, "queued": queued,
            ]
            context.console.print(json: result)
            return ExitCode.success
        }
        context.console.print(
            "\(Quantity.counted(published.count, "user")) in the feed, "
                + "\(Quantity.grouped(raised)) of them go on above what was published"
        )
        if arguments.isSet("republish") {
            context.console.print("\(Quantity.counted(queued, "user")) will be published again")
        }
        return ExitCode.success
    }
}
