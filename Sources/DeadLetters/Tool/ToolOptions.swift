import AppStore
import Records
import Settings

/// The settings of the tool, a few of the workers'.
enum DeadLetterSettings {
    /// Without a setting, the broker of this machine.
    private static let bootstrap = KafkaSettings.bootstrap.defaulted(
        to: [HostPort(host: "localhost", port: 9092)]
    )

    private static let schema = SettingsSchema(
        [bootstrap.declaration, KafkaSettings.topicPrefix.declaration],
        passesOverUnknown: true
    )

    static let options = CommandOption.kafka + [.config]

    /// The topic that the command line, the environment and the file name.
    static func topic(
        _ arguments: CommandArguments,
        environment: [String: String]
    ) throws -> DeadLetterTopic {
        let values = try schema.read(
            arguments,
            environment: environment,
            overrides: [
                ("kafka", bootstrap.declaration),
                ("prefix", KafkaSettings.topicPrefix.declaration),
            ]
        )
        var properties = values.kafkaProperties
        properties["bootstrap.servers"] = values[bootstrap].commaSeparated
        properties["client.id"] = "dead-letter"
        return DeadLetterTopic(
            name: values[KafkaSettings.topicPrefix] + Topic.deadLetter,
            configuration: properties
        )
    }
}

/// The options by which all commands choose dead letters.
enum FilterOptions {
    static let options = [
        CommandOption(
            "reason",
            short: "r",
            argument: "REASON",
            isRepeatable: true,
            "Only this reason; may be given several times."
        ),
        CommandOption(
            "class",
            argument: "CLASS",
            isRepeatable: true,
            "Only this class: forged, corrupt, misrouted, stale or conflict."
        ),
        CommandOption(
            "since",
            argument: "TIME",
            "Failed at or after: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago: 90m, 2d."
        ),
        CommandOption("until", argument: "TIME", "Failed before."),
        CommandOption(
            "transaction",
            short: "t",
            argument: "ID",
            "Only where the original names this transaction or original transaction ID."
        ),
        CommandOption("bundle", short: "b", argument: "ID", "Only of this bundle ID."),
    ]

    static func filter(
        _ arguments: CommandArguments,
        now: Timestamp
    ) throws(UsageError) -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        let reasons: [RefusalReason] = try arguments.values("reason", as: .choice)
        filter.reasons = Set(reasons.map(\.rawValue))
        let classes: [DeadLetterClass] = try arguments.values("class", as: .choice)
        filter.classes = Set(classes.map(\.rawValue))
        filter.since = try instant("since", arguments, now)
        filter.until = try instant("until", arguments, now)
        filter.transactionID = arguments.value("transaction")
        filter.bundleID = arguments.value("bundle")
        return filter
    }

    private static let agoMax = Duration.seconds(10 * 365 * 86_400)

    private static func instant(
        _ option: String,
        _ arguments: CommandArguments,
        _ now: Timestamp
    ) throws(UsageError) -> Timestamp? {
        guard let text = arguments.value(option) else { return nil }
        if let instant = Timestamp(iso8601: text) {
            return instant
        }
        let ago = try? arguments.value(option, as: .duration(.zero...agoMax))
        guard let ago else {
            throw UsageError(
                "--\(option): expected a time such as 2026-01-31, 2026-01-31T12:00:00Z or 90m, "
                    + "found \"\(text)\""
            )
        }
        return Timestamp(milliseconds: now.milliseconds - Int64(ago / .milliseconds(1)))
    }
}
