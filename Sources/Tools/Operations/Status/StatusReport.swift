import AppStore
import Commands
import JSON
import Kafka
import Platform
import Records
import Settings
import Store

/// The state of the pipeline at one instant.
struct StatusReport: Report, Sendable {
    let reconciliation: Reconciliation
    /// The members of each stage's group; absent for a group that the brokers do not describe.
    let members: [StageDescription: [GroupMembership]]
    /// The time of each stage's oldest waiting record in UNIX milliseconds; absent if none waits.
    let oldestWaiting: [StageDescription: Int64]
    let deadLettersHeld: Int64
    /// The topics' settings that would cause records to be refused or lost.
    let differences: [TopicDifference]
    /// Pauses of hours that Apple's server has asked for.
    var waits: [AppleWait] = []
    /// The purchases whose account token Apple gets, by result.
    var accountTokens: [(result: String, count: Int64)] = []
    /// The unpublished part of the feed.
    ///
    /// `nil` without a database.
    var backlog: OutboxTable.Backlog?
    /// The question about topics that the brokers did not answer.
    let topicsUnanswered: String?
    /// The question about groups that the brokers did not answer.
    let membersUnanswered: String?
    /// The time of the report in UNIX milliseconds.
    let now: Int64

    var parts: [TextPart] { parts(since: nil) }

    /// Returns the report as text; it lists each member of a group if no earlier report was shown.
    ///
    /// - Parameter former: an earlier report, from which rates are computed; `nil` shows no rates.
    func parts(since former: StatusReport?) -> [TextPart] {
        var table = TextTable(
            [
                .init("stage"), .init("reads", rank: 2), .init("members", .right, rank: 1), .init("settled", .right),
                former.map { _ in .init("per second", .right, rank: 1) }, .init("waiting", .right),
                .init("oldest waiting"), former.map { _ in .init("drained in") },
                .init("what became of the settled", rank: 3),
            ].compactMap(\.self))
        for stage in reconciliation.stages {
            table.add(
                [
                    stage.stage.name, stage.topic, members[stage.stage].map { Quantity.grouped($0.count) } ?? "-",
                    Quantity.grouped(stage.settled), former.map { rate(of: stage, since: $0) },
                    Quantity.grouped(stage.lag), age(of: stage.stage), former.map { drain(of: stage, since: $0) },
                    Reconciliation.sum(stage.counts, of: stage.stage),
                ].compactMap(\.self))
        }
        let findings = (idle + problems).map { TextPart.line($0, isBad: true) }
        let shares = former == nil ? memberParts : []
        return [.table(table), .blank] + shares + ([deadLetters] + boundaries + tokens).map { .line($0) } + findings
            + gaps.map { .line($0) }
    }

    /// Returns the report for a log: a line with the time for each stage and each finding.
    func plainLines(since former: StatusReport?) -> [String] {
        let time = Timestamp(milliseconds: now).toSecond
        let stages = reconciliation.stages.map { stage in
            let rate = former.map { ", \(self.rate(of: stage, since: $0)) per second" } ?? ""
            let waiting = stage.lag > 0 ? " for \(age(of: stage.stage))" : ""
            let drain = former.map { self.drain(of: stage, since: $0) } ?? "-"
            return "\(stage.stage.name): \(Quantity.grouped(stage.settled)) settled\(rate), "
                + "\(Quantity.grouped(stage.lag)) waiting\(waiting)" + (drain == "-" ? "" : ", drained in \(drain)")
        }
        return (stages + [deadLetters] + boundaries + tokens + idle + problems + gaps).map { "\(time) \($0)" }
    }

    /// A table of the members, with their partitions and the number of waiting records.
    private var memberParts: [TextPart] {
        var table = TextTable([
            .init("member"), .init("of"), .init("on", rank: 1), .init("partitions", .right), .init("waiting", .right),
        ])
        for stage in reconciliation.stages {
            for member in members[stage.stage] ?? [] {
                table.add([
                    member.client, stage.stage.name, member.host, Quantity.grouped(member.partitions.count),
                    Quantity.grouped(stage.lag(of: member)),
                ])
            }
        }
        return table.isEmpty ? [] : [.table(table), .blank]
    }

    /// Findings about groups without members.
    private var idle: [String] {
        reconciliation.stages.filter { members[$0.stage]?.isEmpty ?? false }.map { stage in
            "\(stage.group) has no members: no \(stage.stage.program) reads \(stage.topic)"
        }
    }

    private var deadLetters: String {
        let counted = reconciliation.stages.reduce(0) { $0 + ($1.counts[.deadLettered] ?? 0) }
        return "dead letters: \(Quantity.grouped(counted)) counted, \(Quantity.grouped(deadLettersHeld)) held"
    }

    /// The delay of the feed's events of time.
    private var boundaries: [String] {
        backlog.map { backlog in
            let delay = Int64(exactly: (backlog.boundaryDelaySeconds * 1_000).rounded()) ?? .max
            let age = delay > 0 ? "the oldest for \(Quantity.span(milliseconds: delay))" : "none"
            return ["begins and ends of periods that wait for their event: \(age)"]
        } ?? []
    }

    private var tokens: [String] {
        guard !accountTokens.isEmpty else { return [] }
        let counts = accountTokens.map { "\(Quantity.grouped($0.count)) \($0.result)" }
        return ["account tokens for Apple: " + counts.joined(separator: ", ")]
    }

    var problems: [String] {
        differences.map { "HARMFUL: \($0.description)" } + reconciliation.problems.map { "does not add up: \($0)" }
            + waits.map(\.description)
    }

    private var gaps: [String] { unanswered.map { "not answered by the brokers: \($0)" } }

    private var unanswered: [String] { [topicsUnanswered, membersUnanswered].compactMap(\.self) }

    var json: JSONContent {
        [
            "stages": reconciliation.stages.map(json(of:)), "dead_letters_held": deadLettersHeld,
            "harmful_differences": differences.map(\.description), "problems": reconciliation.problems,
            "apple_waits": waits.map(\.description), "unanswered": unanswered,
            "account_tokens": JSONContent.object(accountTokens.map { ($0.result, $0.count.json) }),
            "boundary_delay_seconds": backlog.map { Duration.seconds($0.boundaryDelaySeconds) },
        ]
    }

    private func json(of stage: StageAccount) -> JSONContent {
        let age = oldestWaiting[stage.stage].map { WallClock.age(of: $0, at: now) }
        return [
            "stage": stage.stage.name, "group": stage.group, "topic": stage.topic, "settled": stage.settled,
            "waiting": stage.lag, "oldest_waiting_seconds": age.map { Duration.milliseconds($0) },
            "dispositions": stage.stage.json(stage.counts),
            "members": members[stage.stage].map { members in
                members.map { member -> JSONContent in
                    [
                        "client": member.client, "host": member.host, "partitions": member.partitions.map(\.partition),
                        "waiting": stage.lag(of: member),
                    ]
                }
            },
        ]
    }

    /// The stage's settled records per second since an earlier report.
    private func rate(of stage: StageAccount, since former: StatusReport) -> String {
        let before = former.reconciliation[stage.stage]?.settled ?? 0
        guard now > former.now, stage.settled >= before else { return "-" }
        return Quantity.grouped(Int128(stage.settled - before) * 1_000 / Int128(now - former.now))
    }

    /// The time until no record waits for a stage, at the rate since an earlier report.
    ///
    /// A dash if no record waits or their number does not decrease.
    private func drain(of stage: StageAccount, since former: StatusReport) -> String {
        guard stage.lag > 0, now > former.now, let before = former.reconciliation[stage.stage], before.lag > stage.lag
        else { return "-" }
        let milliseconds = Int128(stage.lag) * Int128(now - former.now) / Int128(before.lag - stage.lag)
        return Quantity.span(milliseconds: Int64(clamping: milliseconds))
    }

    private func age(of stage: StageDescription) -> String {
        guard let oldest = oldestWaiting[stage] else { return "-" }
        return Quantity.span(milliseconds: WallClock.age(of: oldest, at: now))
    }
}

extension StageAccount {
    /// Number of records that wait in a member's partitions.
    fileprivate func lag(of member: GroupMembership) -> Int64 {
        let own = Set(member.partitions.filter { $0.topic == topic }.map(\.partition))
        return partitions.filter { own.contains($0.partition) }.reduce(0) { $0 + $1.lag }
    }
}
