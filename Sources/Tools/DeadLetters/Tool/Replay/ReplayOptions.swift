import AppStore
package import Postgres
import Records
import Commands
package import Settings
import Store

extension ToolContext {
    /// Returns the replays, configured by this tool's settings and verify-worker's.
    ///
    /// - Throws: `SettingsError` if a setting is invalid.
    package func replays(on client: PostgresClient) throws(SettingsError) -> Replays {
        let verifier = try ReplayVerifier { schema throws(SettingsError) in
            try schema.read(arguments, environment: environment, overrides: [])
        }
        return Replays(names: names, verifier: verifier, database: client)
    }
}

/// The options of `dead-letter replay`, except the filters.
enum ReplayOptions {
    static let groupPrefix = CommandOption(
        "group-prefix", argument: "TEXT",
        "Prefix of the workers' consumer groups; their committed offsets show what was accepted.")

    static let options = [
        CommandOption("all", "All open letters; only without filters and IDs."),
        CommandOption("send", "Send the letters; without it nothing is sent or recorded."),
        CommandOption(
            "why", short: "w", argument: "TEXT", "The reason, for the history; required by --send and --abandon."),
        CommandOption("rate", argument: "N", "Records per second at most; 100 by default."),
        CommandOption(
            "failing-share-max", argument: "SHARE",
            "Stop when more than this share of the last hundred letters is refused again; 0.1 by default."),
        CommandOption(
            "wait-max", argument: "DURATION", "How long to wait without any outcome from the workers; 5m by default."),
        CommandOption("include-resolved", "Also resolved and suppressed letters; only with IDs."),
        CommandOption("again", "Also letters that an earlier replay has sent, unless another replay still holds them."),
        CommandOption("continue", argument: "N", "Continue replay N where it stopped."),
        CommandOption(
            "abandon", argument: "N", "Abandon the unsent letters of replay N; another replay may send them."),
        CommandOption(
            "first", argument: "N",
            "Only the N oldest letters that can be sent, as a trial; the next replay skips those "
                + "that were accepted."),
        CommandOption("yes", short: "y", "Send even if today's verifier refuses every letter."),
        CommandOption(
            "show", argument: "N", "How many of the letters that the verifier does not accept are shown; 20 by default."
        ), ToolContext.auditorOption, groupPrefix,
    ]

    /// The replay that an option names.
    ///
    /// `nil` without the option.
    ///
    /// - Throws: if the command line also selects letters or names another replay, because a replay
    ///   keeps the letters that it was begun with.
    static func replay(_ option: String, _ arguments: CommandArguments) throws(UsageError) -> Int64? {
        let number = try arguments.value(option, as: .int(1...Int(Int32.max)))
        guard let number else { return nil }
        let others =
            FilterOptions.options.map(\.long) + ["all", "first", "again", "include-resolved", "abandon", "continue"]
        if let other = others.first(where: { $0 != option && arguments.isSet($0) }) {
            throw UsageError("--\(option) takes the letters of its replay: leave out --\(other)")
        }
        guard arguments.operands.isEmpty else {
            throw UsageError("--\(option) takes the letters of its replay: leave out the IDs")
        }
        return Int64(number)
    }

    /// The limits of the command line; any other limit is that of the replay, or the default.
    static func limits(_ arguments: CommandArguments, over limits: ReplayLimits = ReplayLimits()) throws(UsageError)
        -> ReplayLimits
    {
        var limits = limits
        limits.rate = try arguments.value("rate", as: .int(ReplayLimits.rates)) ?? limits.rate
        if let wait = try arguments.value("wait-max", as: .duration(ReplayLimits.waits)) { limits.waitMax = wait }
        if let text = arguments.value("failing-share-max") {
            guard let share = Double(text), (0...1).contains(share) else {
                throw UsageError("--failing-share-max: expected 0 to 1, found \"\(text)\"")
            }
            limits.failingShareMax = share
        }
        return limits
    }

    /// The selection given on the command line, as a query and in words.
    static func selection(_ context: ToolContext) throws(UsageError) -> ReplaySelection {
        let arguments = context.arguments
        var query = try FilterOptions.query(arguments, now: context.now)
        query.ids = Set(arguments.operands.map { $0.lowercased() })
        guard arguments.isSet("all") == (query == DeadLetterQuery()) else {
            throw UsageError("expected a filter or IDs, or --all by itself")
        }
        let includesResolved = arguments.isSet("include-resolved")
        guard !includesResolved || !query.ids.isEmpty else {
            throw UsageError("--include-resolved needs the IDs of the letters")
        }
        var selection = ReplaySelection(query, text: query.words)
        selection.includesResolved = includesResolved
        selection.again = arguments.isSet("again")
        selection.first = try arguments.value("first", as: .int(1...ReplayPlan.lettersMax))
        if let first = selection.first { selection.text += ", the first \(first) that can be sent" }
        return selection
    }
}
