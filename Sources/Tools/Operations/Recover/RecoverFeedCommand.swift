import Commands
import JSON
import Records
import Settings
import Store

extension ToolCommand {
    static let recoverFeed = ToolCommand(
        "recover feed",
        "Has each user's versions in the change feed go on above all that was published.\n\n"
            + "After a database was restored or lost, and before the workers start: it would "
            + "give out versions again that readers of the feed know and pass over. Reads the "
            + "feed's topics to their end. May be run twice, beside running workers too.\n\n"
            + "With --republish, the newest states of all users are published again, for a "
            + "new cluster whose topics are empty; that needs a running entitle-worker.",
        options: CommandOption.kafka + [
            CommandOption("republish", "Publish the newest states of all users again."), .postgres, .config, .json,
        ]
    ) { context in
        let isRepublishing = context.arguments.isSet("republish")
        let settings = try context.settings([.kafka, .database])
        var progress = ProgressLine(console: context.console)
        let recovery = FeedVersions(settings: settings)
        let published = try await recovery.published { topic, done, total in
            progress.show("reading \(topic)", done: done, of: total, "record")
        }
        let raised = try await settings.withDatabase { connection in
            try await recovery.raise(published, on: connection) { done in
                progress.show("comparing versions", done: done, of: published.count, "user")
            }
        }
        var queued: Int64 = 0
        if isRepublishing {
            queued = try await settings.withDatabase { connection in
                try await recovery.republish(on: connection) { count in
                    progress.show("republishing", done: count, "user")
                }
            }
        }
        progress.clear()
        let count = published.count
        context.print(["published": count, "raised": raised, "queued": queued]) { console in
            console.print(
                "\(Quantity.counted(count, "user")) in the feed, "
                    + "\(Quantity.grouped(raised)) of them go on above what was published")
            if isRepublishing { console.print("\(Quantity.counted(queued, "user")) will be published again") }
        }
        return ExitCode.success
    }
}
