import Commands
import Foundation
import Kafka
import Records
import Settings
import Store

extension ToolCommand {
    static let status = ToolCommand(
        "status",
        "Shows what each stage has settled, what is waiting for it and since when, and the members "
            + "of its group.\n\nReads from Kafka, and from the database, where one is named, the waits of hours "
            + "that Apple's server has asked for, the delay of the feed's events of time and the account tokens "
            + "that Apple gets; the workers are not involved. Exit code 1 when something does not add up or a "
            + "topic's settings do harm. "
            + "With --watch it repeats the report with the records settled per second and the time until nothing "
            + "waits, by what has changed between two reports: in place on a terminal, else in "
            + "lines that begin with the time. It waits for a broker that does not answer.",
        options: CommandOption.kafka + [
            .groupPrefix, .postgres, .config, .json, .wide, .skippedMax,
            CommandOption("watch", "Repeat the report until Ctrl-C."),
            CommandOption("interval", argument: "TIME", "Between two reports (2s)."),
            CommandOption("count", argument: "N", "End after so many reports."),
        ]
    ) { context in
        let arguments = context.arguments
        let reader = StatusReader(
            settings: try context.settings(.kafka), database: try? context.settings(.database),
            skippedMax: try arguments.skippedMax)
        if arguments.isSet("watch") {
            return try await StatusWatch(reader, arguments: arguments, on: context.console).run()
        }
        if let option = ["interval", "count"].first(where: { arguments.value($0) != nil }) {
            throw UsageError("--\(option) needs --watch")
        }
        let report = try await KafkaAdmin.namingServers(reader.settings.kafkaConfiguration) {
            try await reader.read(now: StatusWatch.now)
        }
        context.console.print(report, arguments)
        return report.problems.isEmpty ? ExitCode.success : ExitCode.negative
    }
}

/// Reads the pipeline's progress from Kafka.
struct StatusReader {
    /// The deadline of requests whose answers the report can omit.
    private static let topicsDeadline = Duration.seconds(5)

    private typealias Members = (found: [StageDescription: [GroupMembership]], unanswered: String?)
    private typealias Harm = (differences: [TopicDifference], unanswered: String?)

    let settings: SettingsValues
    /// The settings of the database.
    ///
    /// `nil` without a database.
    let database: SettingsValues?
    let skippedMax: Int64

    /// - Parameters:
    ///   - now: the time in UNIX milliseconds.
    ///   - former: an earlier report, whose findings about the topics' settings are reused; `nil`
    ///     reads the settings.
    /// - Throws: a `KafkaError` if the brokers do not answer.
    func read(now: Int64, after former: StatusReport? = nil) async throws -> StatusReport {
        let (reconciliation, groups, topics) = try await KafkaAdmin.with(settings.kafkaConfiguration) {
            admin -> (Reconciliation, Members, Harm) in
            var reconciliation = try await AccountReader(admin, settings).read()
            reconciliation.skippedMax = skippedMax
            var asked: Members = ([:], former?.membersUnanswered)
            if asked.unanswered == nil { asked = await members(of: reconciliation.stages, admin) }
            guard let former else { return (reconciliation, asked, try await harm(admin)) }
            return (reconciliation, asked, (former.differences, former.topicsUnanswered))
        }
        let deadLetters = settings.topic(Topic.deadLetter)
        return StatusReport(
            reconciliation: reconciliation, members: groups.found,
            oldestWaiting: try await oldestWaiting(reconciliation),
            deadLettersHeld: reconciliation.flows.first { $0.topic == deadLetters }?.held ?? 0,
            differences: topics.differences,
            waits: try await database?.withDatabase { try await AppleWait.read($0, at: now) } ?? [],
            accountTokens: try await database?.withDatabase {
                Array(try await $0.run(RecoveryRequestTable.tokenCounts))
            } ?? [], backlog: try await database?.withDatabase { try await $0.run(OutboxTable.backlog)[0] },
            topicsUnanswered: topics.unanswered, membersUnanswered: groups.unanswered, now: now)
    }

    /// Reads the members of the stages' groups, up to the first question that is not answered.
    private func members(of stages: [StageAccount], _ admin: KafkaAdmin) async -> Members {
        var found: [StageDescription: [GroupMembership]] = [:]
        for stage in stages {
            do throws(KafkaError) {
                switch try await admin.groupMembers(stage.group, deadline: Self.topicsDeadline) {
                case .answered(let members): found[stage.stage] = members
                case .unanswered(let error): throw error
                }
            } catch { return (found, "the members of groups (\(error.name))") }
        }
        return (found, nil)
    }

    /// Reads the time at which each stage's first waiting record was written.
    private func oldestWaiting(_ reconciliation: Reconciliation) async throws -> [StageDescription: Int64] {
        let reader = TopicReader(settings.kafkaConfiguration)
        var oldest: [StageDescription: Int64] = [:]
        for stage in reconciliation.stages where stage.lag > 0 {
            let waiting = Dictionary(
                uniqueKeysWithValues: stage.partitions.filter { $0.lag > 0 }.map { partition in
                    (
                        TopicPartition(topic: stage.topic, partition: partition.partition),
                        partition.next..<partition.held.upperBound
                    )
                })
            let records = try await reader.first(in: waiting)
            oldest[stage.stage] = records.compactMap(\.timestampMilliseconds).min()
        }
        return oldest
    }

    /// Reads the deviations from the plan that would cause records to be refused or lost.
    private func harm(_ admin: KafkaAdmin) async throws -> Harm {
        let plans = TopicLayout(prefix: settings.topic("")).plans
        let answer = try await admin.topicConfigurations(plans.map(\.name), deadline: Self.topicsDeadline)
        switch answer {
        case .unanswered(let error): return ([], "the settings of its topics (\(error.name))")
        case .answered(let configurations):
            let harm = plans.flatMap { plan in plan.need.harm(configurations[plan.name]?.mapValues(\.value) ?? [:]) }
            return (harm, nil)
        }
    }
}
