import AppStore
package import Postgres
import Records
package import Settings
import Store

extension ToolContext {
    /// Replays with the settings of this tool and of verify-worker.
    ///
    /// - Throws: `SettingsError` if those are wrong.
    package func replays(on client: PostgresClient) throws(SettingsError) -> Replays {
        let verifier = try ReplayVerifier { schema throws(SettingsError) in
            try schema.read(arguments, environment: environment, overrides: [])
        }
        return Replays(names: names, verifier: verifier, database: client)
    }
}

/// The options of `dead-letter replay` beside those that choose letters.
enum ReplayOptions {
    static let groupPrefix = CommandOption(
        "group-prefix",
        argument: "TEXT",
        "Prefix of the workers' consumer groups, whose commits tell what was accepted."
    )

    static let options = [
        CommandOption("all", "All that are open; where no filter and no ID is given."),
        CommandOption("send", "Send them; without it nothing is sent or recorded."),
        CommandOption(
            "why",
            short: "w",
            argument: "TEXT",
            "Why, for the history; required to send or abandon."
        ),
        CommandOption("rate", argument: "N", "Records per second at most; 100 by default."),
        CommandOption(
            "failing-share-max",
            argument: "SHARE",
            "Stop when more than this share of the last hundred is refused again; 0.1 by default."
        ),
        CommandOption(
            "wait-max",
            argument: "DURATION",
            "How long to wait for the workers without an outcome; 5m by default."
        ),
        CommandOption(
            "include-resolved",
            "Also resolved and suppressed letters, of those that are named by their IDs."
        ),
        CommandOption(
            "again",
            "Also letters that a replay has sent before, whatever became of them."
        ),
        CommandOption("continue", argument: "N", "Go on with replay N where it stopped."),
        CommandOption(
            "abandon",
            argument: "N",
            "Give up what replay N has not sent; its letters may be replayed by another."
        ),
        CommandOption(
            "first",
            argument: "N",
            "Only the N oldest of those that can be sent, as a trial; the next replay goes on "
                + "behind those that were accepted."
        ),
        CommandOption(
            "yes",
            short: "y",
            "Send also where today's verifier refuses all of them, without asking."
        ),
        CommandOption(
            "show",
            argument: "N",
            "Letters shown of those that the verifier does not accept; 20 by default."
        ),
        ToolContext.auditorOption, groupPrefix,
    ]

    static func limits(_ arguments: CommandArguments) throws(UsageError) -> ReplayLimits {
        var limits = ReplayLimits()
        limits.rate = try arguments.value("rate", as: .int(ReplayLimits.rates)) ?? limits.rate
        if let wait = try arguments.value("wait-max", as: .duration(ReplayLimits.waits)) {
            limits.waitMax = wait
        }
        if let text = arguments.value("failing-share-max") {
            guard let share = Double(text), (0...1).contains(share) else {
                throw UsageError("--failing-share-max: expected 0 to 1, found \"\(text)\"")
            }
            limits.failingShareMax = share
        }
        return limits
    }

    /// The selection of the command line, as a query and in words.
    static func selection(_ context: ToolContext) throws(UsageError) -> ReplaySelection {
        let arguments = context.arguments
        var query = try FilterOptions.query(arguments, now: context.now)
        query.ids = Set(arguments.operands.map { $0.lowercased() })
        guard arguments.isSet("all") == (query == DeadLetterQuery()) else {
            throw UsageError("expected a filter or IDs, or --all by itself")
        }
        let isResolved = arguments.isSet("include-resolved")
        guard !isResolved || !query.ids.isEmpty else {
            throw UsageError("--include-resolved needs the IDs of the letters")
        }
        var selection = ReplaySelection(query, text: text(query))
        selection.includesResolved = isResolved
        selection.again = arguments.isSet("again")
        selection.first = try arguments.value("first", as: .int(1...ReplayPlan.lettersMax))
        if let first = selection.first {
            selection.text += ", the first \(first) that can be sent"
        }
        return selection
    }

    /// The filter as the history shows it, with instants for relative times.
    static func text(_ query: DeadLetterQuery) -> String {
        let sets = [
            ("reason", query.reasons), ("class", query.classes), ("stage", query.stages),
            ("state", Set(query.states.map(\.rawValue))),
        ]
        let values = [
            ("bundle", query.bundleID), ("environment", query.environment),
            ("product", query.productID), ("transaction", query.transactionID),
            ("certificate", query.certificate), ("worker", query.worker),
            ("source", query.source?.description), ("since", query.since?.description),
            ("until", query.until?.description), ("group", query.group),
        ]
        var parts = sets.filter { !$0.1.isEmpty }.map { name, values in
            "\(name) \(values.sorted().joined(separator: " or "))"
        }
        parts += values.compactMap { name, value in value.map { "\(name) \($0)" } }
        if !query.ids.isEmpty {
            parts.append("\(query.ids.count) named by ID")
        }
        return parts.isEmpty ? "all" : parts.joined(separator: ", ")
    }
}
