package import AppStore
import Records
import Commands
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
        for option in options {
            for value in arguments.values(option.long) { try narrow(&query, by: option.long, value, now: now) }
        }
        return query
    }

    /// Narrows a query by the value of an option; the arguments of the console's pages have the same names.
    package static func narrow(_ query: inout DeadLetterQuery, by name: String, _ value: String, now: Timestamp)
        throws(UsageError)
    {
        if let choices = options.first(where: { $0.long == name })?.choices, !choices.isEmpty, !choices.contains(value)
        {
            throw UsageError("\(name): expected one of \(choices.joined(separator: ", ")), found \"\(value)\"")
        }
        switch name {
        case "reason": query.reasons.insert(value)
        case "class": query.classes.insert(value)
        case "stage": query.stages.insert(value)
        case "state": query.states.formUnion(DeadLetterState(rawValue: value).map { [$0] } ?? [])
        case "since": query.since = try instant(name, value, now: now)
        case "until": query.until = try instant(name, value, now: now)
        case "transaction": query.transactionID = value
        case "bundle": query.bundleID = value
        case "environment": query.environment = value
        case "product": query.productID = value
        case "certificate": query.certificate = value
        case "worker": query.worker = value
        case "group": query.group = value.lowercased()
        case "id": query.ids.insert(value)
        default:
            query.source = RecordPosition(value)
            guard query.source != nil else {
                throw UsageError("\(name): expected TOPIC/PARTITION/OFFSET, found \"\(value)\"")
            }
        }
    }

    /// Parses a bound of a filter: a date, a time, or a time before the present such as `36h`.
    package static func instant(_ name: String, _ text: String, now: Timestamp) throws(UsageError) -> Timestamp {
        if let instant = Timestamp(iso8601: text) { return instant }
        let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...100_000).contains(count)
        else {
            throw UsageError(
                "\(name): expected a time such as 2026-01-31, 2026-01-31T12:00:00Z or 90m, found \"\(text)\"")
        }
        return Timestamp(milliseconds: now.milliseconds - count * unit)
    }
}

extension DeadLetterQuery {
    /// The filter in words, for the history; relative times are resolved.
    package var words: String {
        let sets = [("reason", reasons), ("class", classes), ("stage", stages), ("state", Set(states.map(\.rawValue)))]
        let values = [
            ("bundle", bundleID), ("environment", environment), ("product", productID), ("transaction", transactionID),
            ("certificate", certificate), ("worker", worker), ("source", source?.description),
            ("since", since?.description), ("until", until?.description), ("group", group),
        ]
        var parts = sets.filter { !$0.1.isEmpty }.map { name, values in
            "\(name) \(values.sorted().joined(separator: " or "))"
        }
        parts += values.compactMap { name, value in value.map { "\(name) \($0)" } }
        if !ids.isEmpty { parts.append("\(ids.count) named by ID") }
        return parts.isEmpty ? "all" : parts.joined(separator: ", ")
    }
}
