import JSON
import Worker
import Settings

/// Where the pipeline stands at a moment.
struct StatusReport: Sendable {
    let reconciliation: Reconciliation
    /// UNIX milliseconds of the oldest record that waits for each stage; none where nothing waits.
    let oldestWaiting: [StageDescription: Int64]
    /// What the dead-letter topic holds.
    let deadLettersHeld: Int64
    /// Settings of topics by which records would be refused or lost.
    let differences: [TopicDifference]
    /// Questions that the brokers do not answer, each said once.
    let unanswered: [String]
    /// UNIX milliseconds.
    let now: Int64

    var lines: [String] {
        var table = TextTable([
            .init("stage"), .init("reads"), .init("settled", .right), .init("waiting", .right),
            .init("oldest waiting"), .init("what became of the settled"),
        ])
        for stage in reconciliation.stages {
            table.add([
                stage.stage.name, stage.topic, Quantity.grouped(stage.settled),
                Quantity.grouped(stage.lag), age(of: stage.stage),
                Reconciliation.sum(stage.counts, of: stage.stage),
            ])
        }
        let counted = reconciliation.stages.reduce(0) { $0 + ($1.counts[.deadLettered] ?? 0) }
        var lines = table.lines()
        lines += [
            "",
            "dead letters: \(Quantity.grouped(counted)) counted, "
                + "\(Quantity.grouped(deadLettersHeld)) held",
        ]
        lines += differences.map { "HARMFUL: \($0.description)" }
        lines += reconciliation.problems.map { "does not add up: \($0)" }
        return lines + unanswered.map { "not answered by the brokers: \($0)" }
    }

    var json: [UInt8] {
        var writer = JSONWriter(reserving: 8_192)
        writer.object { writer in
            writer.key("stages")
            writer.array { writer in
                for stage in reconciliation.stages {
                    write(stage, &writer)
                }
            }
            writer.member("deadLettersHeld", deadLettersHeld)
            writer.key("harmfulDifferences")
            writer.strings(differences.map(\.description))
            writer.key("problems")
            writer.strings(reconciliation.problems)
            writer.key("unanswered")
            writer.strings(unanswered)
        }
        return writer.bytes
    }

    private func write(_ stage: StageAccount, _ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("stage", stage.stage.name)
            writer.member("group", stage.group)
            writer.member("topic", stage.topic)
            writer.member("settled", stage.settled)
            writer.member("waiting", stage.lag)
            if let oldest = oldestWaiting[stage.stage] {
                writer.member("oldestWaitingMilliseconds", max(0, now - oldest))
            }
            writer.key("dispositions")
            writer.dispositions(stage.counts, of: stage.stage)
        }
    }

    private func age(of stage: StageDescription) -> String {
        guard let oldest = oldestWaiting[stage] else { return "-" }
        return Quantity.span(milliseconds: max(0, now - oldest))
    }
}
