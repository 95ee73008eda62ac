import AppStore
import JSON
import Platform
import Records
import Settings

/// Where the pipeline stands at a moment.
struct StatusReport: Report, Sendable {
    let reconciliation: Reconciliation
    /// UNIX milliseconds of the oldest record that waits for each stage; none if nothing waits.
    let oldestWaiting: [StageDescription: Int64]
    let deadLettersHeld: Int64
    /// Settings of topics by which records would be refused or lost.
    let differences: [TopicDifference]
    /// Waits of hours that Apple's server has asked for.
    var waits: [AppleWait] = []
    /// Questions that the brokers do not answer, each said once.
    let unanswered: [String]
    /// UNIX milliseconds.
    let now: Int64

    var parts: [TextPart] { parts(since: nil) }

    /// For people.
    ///
    /// - Parameter former: an earlier report, since which the rates are; without it none are shown.
    func parts(since former: StatusReport?) -> [TextPart] {
        var table = TextTable(
            [
                .init("stage"), .init("reads", rank: 2), .init("settled", .right),
                former.map { _ in .init("per second", .right, rank: 1) },
                .init("waiting", .right), .init("oldest waiting"),
                former.map { _ in .init("drained in") },
                .init("what became of the settled", rank: 3),
            ].compactMap(\.self)
        )
        for stage in reconciliation.stages {
            table.add(
                [
                    stage.stage.name, stage.topic, Quantity.grouped(stage.settled),
                    former.map { rate(of: stage, since: $0) }, Quantity.grouped(stage.lag),
                    age(of: stage.stage), former.map { drain(of: stage, since: $0) },
                    Reconciliation.sum(stage.counts, of: stage.stage),
                ].compactMap(\.self)
            )
        }
        return [.table(table), .blank, .line(deadLetters)]
            + problems.map { .line($0, isBad: true) } + gaps.map { .line($0) }
    }

    /// For a log: a line for each stage and one for each finding, each with the time.
    func plainLines(since former: StatusReport?) -> [String] {
        let time = Timestamp(milliseconds: now).toSecond
        let stages = reconciliation.stages.map { stage in
            let rate = former.map { ", \(self.rate(of: stage, since: $0)) per second" } ?? ""
            let waiting = stage.lag > 0 ? " for \(age(of: stage.stage))" : ""
            let drain = former.map { self.drain(of: stage, since: $0) } ?? "-"
            return "\(stage.stage.name): \(Quantity.grouped(stage.settled)) settled\(rate), "
                + "\(Quantity.grouped(stage.lag)) waiting\(waiting)"
                + (drain == "-" ? "" : ", drained in \(drain)")
        }
        return (stages + [deadLetters] + problems + gaps).map { "\(time) \($0)" }
    }

    private var deadLetters: String {
        let counted = reconciliation.stages.reduce(0) { $0 + ($1.counts[.deadLettered] ?? 0) }
        return "dead letters: \(Quantity.grouped(counted)) counted, "
            + "\(Quantity.grouped(deadLettersHeld)) held"
    }

    private var problems: [String] {
        differences.map { "HARMFUL: \($0.description)" }
            + reconciliation.problems.map { "does not add up: \($0)" } + waits.map(\.description)
    }

    private var gaps: [String] {
        unanswered.map { "not answered by the brokers: \($0)" }
    }

    var json: JSONContent {
        [
            "stages": reconciliation.stages.map(json(of:)),
            "dead_letters_held": deadLettersHeld,
            "harmful_differences": differences.map(\.description),
            "problems": reconciliation.problems, "apple_waits": waits.map(\.description),
            "unanswered": unanswered,
        ]
    }

    private func json(of stage: StageAccount) -> JSONContent {
        let age = oldestWaiting[stage.stage].map { WallClock.age(of: $0, at: now) }
        return [
            "stage": stage.stage.name, "group": stage.group, "topic": stage.topic,
            "settled": stage.settled, "waiting": stage.lag,
            "oldest_waiting_seconds": age.map { Duration.milliseconds($0) },
            "dispositions": stage.stage.json(stage.counts),
        ]
    }

    /// The stage's settled records per second since an earlier report.
    private func rate(of stage: StageAccount, since former: StatusReport) -> String {
        let before = former.reconciliation[stage.stage]?.settled ?? 0
        guard now > former.now, stage.settled >= before else { return "-" }
        return Quantity.grouped(Int128(stage.settled - before) * 1_000 / Int128(now - former.now))
    }

    /// The time until nothing waits for a stage, at the rate by which less has waited since an
    /// earlier report; a dash if nothing waits or it does not get less.
    private func drain(of stage: StageAccount, since former: StatusReport) -> String {
        guard stage.lag > 0, now > former.now, let before = former.reconciliation[stage.stage],
            before.lag > stage.lag
        else { return "-" }
        let milliseconds =
            Int128(stage.lag) * Int128(now - former.now) / Int128(before.lag - stage.lag)
        return Quantity.span(milliseconds: Int64(clamping: milliseconds))
    }

    private func age(of stage: StageDescription) -> String {
        guard let oldest = oldestWaiting[stage] else { return "-" }
        return Quantity.span(milliseconds: WallClock.age(of: oldest, at: now))
    }
}
