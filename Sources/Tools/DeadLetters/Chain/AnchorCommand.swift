import Commands

enum AnchorCommand: DeadLetterCommand {
    static let name = "anchor"
    static let summary =
        "Prints the last link of every chain as JSON. Keep it where nobody who can write to Kafka can "
        + "change it: 'dead-letter verify --anchor FILE' then shows later whether a letter was replaced."

    static func run(_ context: ToolContext) async throws -> Int32 {
        let cluster = try await context.commits.clusterID()
        let reading = try await context.showingProgress("verifying") { progress in
            try await ChainReading.read(context, progress: progress)
        }
        let anchor = ChainAnchor(reading.report, takenAt: context.now, cluster: cluster, topic: context.topic.name)
        context.console.print(json: anchor.json)
        return ChainReportText.note(reading.report, context.console)
    }
}
