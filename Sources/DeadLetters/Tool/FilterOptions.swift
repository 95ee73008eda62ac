import AppStore
import Settings

/// The options by which all commands choose dead letters.
enum FilterOptions {
    static let options = [
        CommandOption(
            "reason",
            short: "r",
            argument: "REASON",
            isRepeatable: true,
            "Only of this reason; may be given several times."
        ),
        CommandOption(
            "class",
            argument: "CLASS",
            isRepeatable: true,
            "Only of this class: forged, corrupt, misrouted, stale or conflict."
        ),
        CommandOption(
            "since",
            argument: "TIME",
            "Failed at or after: 2026-01-31, 2026-01-31T12:00:00Z, or so long ago: 90m, 2d."
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
