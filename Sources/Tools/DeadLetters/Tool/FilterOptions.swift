package import AppStore
import Commands
import Records
package import Settings
package import Store

/// The options by which all commands choose dead letters.
package enum FilterOptions {
    package static let options = [
        CommandOption(
            "reason", short: "r", argument: "REASON", choices: RefusalReason.allCases.map(\.rawValue),
            isRepeatable: true, "Only this reason; may be given several times."),
        CommandOption(
            "class", argument: "CLASS", choices: DeadLetterClass.allCases.map(\.rawValue), isRepeatable: true,
            "Only this class: forged, corrupt, misrouted, stale or conflict."),
        CommandOption("stage", argument: "STAGE", isRepeatable: true, "Only of this stage."),
        CommandOption(
            "state", argument: "STATE", choices: DeadLetterState.allCases.map(\.rawValue), isRepeatable: true,
            "Only open, replayed, resolved or suppressed ones; needs the index."),
        CommandOption(
            "since", argument: "TIME", "Failed at or after: 2026-01-31, 2026-01-31T12:00:00Z, or a time ago: 90m, 2d."),
        CommandOption("until", argument: "TIME", "Failed before."),
        CommandOption(
            "transaction", short: "t", argument: "ID",
            "Only where the original names this transaction or original transaction ID."),
        CommandOption("bundle", short: "b", argument: "ID", "Only of this bundle ID."),
        CommandOption("environment", argument: "NAME", "Only of this environment."),
        CommandOption("product", argument: "ID", "Only of this product ID."),
        CommandOption(
            "certificate", argument: "SHA-256",
            "Only where the chain has a certificate of this fingerprint, or beginning of one."),
        CommandOption("worker", argument: "NAME", "Only of this worker."),
        CommandOption(
            "source", argument: "TOPIC/PARTITION/OFFSET",
            "Only of this source record, or of the body that it came from."),
        CommandOption("group", argument: "ID", "Only of this group (see 'groups')."),
    ]

    package static func query(_ arguments: CommandArguments, now: Timestamp) throws(UsageError) -> DeadLetterQuery {
        var query = DeadLetterQuery()
        let reasons: [RefusalReason] = try arguments.values("reason", as: .choice)
        query.reasons = Set(reasons.map(\.rawValue))
        let classes: [DeadLetterClass] = try arguments.values("class", as: .choice)
        query.classes = Set(classes.map(\.rawValue))
        query.stages = Set(arguments.values("stage"))
        query.states = Set(try arguments.values("state", as: .choice))
        query.since = try instant("since", arguments, now)
        query.until = try instant("until", arguments, now)
        query.transactionID = arguments.value("transaction")
        query.bundleID = arguments.value("bundle")
        query.environment = arguments.value("environment")
        query.productID = arguments.value("product")
        query.certificate = arguments.value("certificate")
        query.worker = arguments.value("worker")
        query.group = arguments.value("group")?.lowercased()
        if let source = arguments.value("source") {
            guard let position = RecordPosition(source) else {
                throw UsageError("--source: expected TOPIC/PARTITION/OFFSET, found \"\(source)\"")
            }
            query.source = position
        }
        return query
    }

    private static let agoMax = Duration.seconds(10 * 365 * 86_400)

    private static func instant(_ option: String, _ arguments: CommandArguments, _ now: Timestamp) throws(UsageError)
        -> Timestamp?
    {
        guard let text = arguments.value(option) else { return nil }
        if let instant = Timestamp(iso8601: text) { return instant }
        let ago = try? arguments.value(option, as: .duration(.zero...agoMax))
        guard let ago else {
            throw UsageError(
                "--\(option): expected a time such as 2026-01-31, 2026-01-31T12:00:00Z or 90m, found \"\(text)\"")
        }
        return Timestamp(milliseconds: now.milliseconds - Int64(ago / .milliseconds(1)))
    }
}
