import AppStore
import Commands
import JSON
import Kafka
import Platform
import Records
import Settings
import Store

extension ToolCommand {
    static let whatsStored = ToolCommand(
        "whats-stored",
        "Reports what is stored about one user, where, and what 'forget' does with it.\n\n"
            + "Where kafka.bootstrap is configured, it also reports until when the topics may hold "
            + "what they hold now. 'explain USER' shows the same user's entitlements with their reasons.",
        operands: "USER", operandCount: 1...1,
        options: CommandOption.kafka + [
            CommandOption(
                "limit", argument: "N", "Maximum number of links, claims and purchases named, each; 100 unless given."),
            .postgres, .config, .json,
        ]
    ) { context in
        let user = Identifier(context.arguments.operands[0])
        let limit = try context.arguments.value("limit", as: .int(1...1_000_000)) ?? 100
        let answer = try await context.withDatabase { connection in
            try await connection.run(SupportAnswers.stored, (user, limit))[0].root
        }
        let isFound = answer["tables"]?.count ?? 0 > 0
        var kept = JSONContent.null
        do { kept = try await keptUntil(try context.settings(.kafka)) } catch
            where error is KafkaError || error is SettingsError
        { context.console.note("until when the topics keep their records is not known: \(error)") }
        context.console.print(answer: JSONContent(answer) + ["kept_until": kept], context.arguments)
        if !isFound, !context.isJSON { context.console.print("nothing is stored about \(user) in the tables") }
        return ExitCode.answer(isFound)
    }

    /// The latest instant at which each topic removes the records that it has now; null if it keeps them forever.
    ///
    /// Kafka removes a segment when its newest record is older than the retention.
    private static func keptUntil(_ settings: SettingsValues) async throws -> JSONContent {
        let prefix = settings[KafkaSettings.topicPrefix]
        let names = (TopicLayout.flow + TopicLayout.written).filter { $0 != Topic.current }.map { prefix + $0 }
        let answer = try await KafkaAdmin.lend(settings.kafkaConfiguration) { admin in
            try await admin.topicConfigurations(names, deadline: .seconds(30))
        }
        switch answer {
        case .unanswered(let error): throw error
        case .answered(let topics):
            return .array(
                names.compactMap { name in
                    topics[name].map { topic in
                        [
                            "topic": name,
                            "until": end(of: [topic["retention.ms"], topic["segment.ms"]]).map { StoredTime($0) },
                        ]
                    }
                })
        }
    }

    /// Returns the present instant after these spans; `nil` if one of them is unlimited or unknown.
    private static func end(of spans: [TopicSetting?]) -> Timestamp? {
        var end = WallClock.milliseconds
        for span in spans {
            guard let milliseconds = span.flatMap({ Int64($0.value) }), milliseconds >= 0 else { return nil }
            let (sum, isOver) = end.addingReportingOverflow(milliseconds)
            guard !isOver, Timestamp.bounds.contains(sum) else { return nil }
            end = sum
        }
        return Timestamp(milliseconds: end)
    }
}
