import AppStore
import Commands
import JSON
import Kafka
import Postgres
import Records
import Settings
import Store
import Telemetry

enum CountCommand: DeadLetterCommand {
    static let name = "count"
    static let summary = "Counts dead letters, each once however often it was repeated."
    static let options: [CommandOption] =
        FilterOptions.options + [
            CommandOption(
                "by", argument: "WHAT", choices: DeadLetterGrouping.allCases.map(\.rawValue),
                "Group by reason (the default), class, stage, hour or day of failure, bundle, "
                    + "certificate (the leaf's fingerprint), worker or state."),
            MetricsFile.option("Write how many are open, by class, as metrics and no table"),
        ]

    private typealias Count = DeadLetterCounts.Count

    /// Maximum rows of a table.
    fileprivate static let valuesMax = 10_000

    static func run(_ context: ToolContext) async throws -> Int32 {
        let query = try FilterOptions.query(context.arguments, now: context.now)
        if let file = try MetricsFile(context.arguments) { return try await write(query, to: file, context) }
        let by: DeadLetterGrouping = try context.arguments.value("by", as: .choice) ?? .reason
        let index = try await context.database()
        let standing = try await context.standing(of: index)
        let counts = try await DeadLetterCounts.counts(by: by, query, limit: valuesMax, on: index)
        let total = try await DeadLetterCounts.count(query, on: index)
        report(by.withoutGaps(counts, query, now: context.now), total: total, by: by, context)
        context.console.note(standing.text)
        if counts.count == valuesMax { context.console.note("only \(valuesMax) values are shown: narrow the filter") }
        return ExitCode.found(total)
    }

    /// Writes the numbers of open letters as metrics, from the index.
    private static func write(_ query: DeadLetterQuery, to file: MetricsFile, _ context: ToolContext) async throws
        -> Int32
    {
        let isWhole = query == DeadLetterQuery() && context.arguments.value("by") == nil
        guard isWhole else { throw UsageError("--metrics counts the open letters by class: leave out the rest") }
        let index = try await context.database()
        _ = try await context.standing(of: index)
        var open = DeadLetterQuery()
        open.states = [.open]
        let limit = DeadLetterClass.allCases.count
        let counts = try await DeadLetterCounts.counts(by: .deadLetterClass, open, limit: limit, on: index)
        let registry = MetricsRegistry()
        let letters = registry.gauge(
            "dead_letter_open_records",
            "Dead letters that nobody has dealt with, by class, as `dead-letter count` found them.", labels: ["class"])
        for deadLetterClass in DeadLetterClass.allCases {
            let found = counts.first { $0.value == deadLetterClass.rawValue }
            letters[deadLetterClass.rawValue].set(Int(found?.letters ?? 0))
        }
        try file.write(registry)
        return ExitCode.success
    }

    private static func report(_ counts: [Count], total: Int64, by: DeadLetterGrouping, _ context: ToolContext) {
        guard !context.isJSON else {
            context.console.print(json: json(counts, total: total, by))
            return
        }
        var rows = TextTable([.init(by.rawValue), .init("dead letters", .right)])
        for count in counts {
            let value = count.value.map { Printable.line($0, lengthMax: 64) }
            rows.add([value ?? "(none)", String(count.letters)])
        }
        rows.add(["total", String(total)])
        context.console.print(rows)
    }

    private static func json(_ counts: [Count], total: Int64, _ by: DeadLetterGrouping) -> JSONContent {
        let named = counts.compactMap { count in count.value.map { ($0, count.letters.json) } }
        return [
            "by": by.rawValue, "counts": JSONContent.object(named),
            "without": counts.first { $0.value == nil }?.letters ?? 0, "total": total,
        ]
    }
}

extension DeadLetterGrouping {
    /// The number of the span (an hour or a day) that holds an instant, counted from 1970.
    ///
    /// - Parameter span: the length of the span in milliseconds.
    private static func number(of instant: Timestamp, _ span: Int64) -> Int64 {
        let milliseconds = instant.milliseconds
        return milliseconds / span - (milliseconds % span < 0 ? 1 : 0)
    }

    /// - Parameters:
    ///   - number: the number of the span, counted from 1970.
    ///   - span: the length of the span in milliseconds.
    private func text(_ number: Int64, _ span: Int64) -> String {
        let start = Timestamp(milliseconds: number * span)
        return self == .day ? start.day : start.description
    }

    /// Adds a count of zero for each span (an hour or a day) without letters.
    ///
    /// The first row is that of `--since`, or else the first counted span. The last row is that of
    /// `--until`, or of the present if only `--since` is given, or else the last counted span.
    ///
    /// Gaps stay if the table would exceed `valuesMax` rows, as an impossible time of failure would cause.
    fileprivate func withoutGaps(_ counts: [DeadLetterCounts.Count], _ query: DeadLetterQuery, now: Timestamp)
        -> [DeadLetterCounts.Count]
    {
        guard let span else { return counts }
        let numbers = counts.compactMap { count in
            count.value.flatMap { Timestamp(iso8601: $0) }.map { Self.number(of: $0, span) }
        }
        let until = query.until.map { Timestamp(milliseconds: $0.milliseconds - 1) } ?? query.since.map { max($0, now) }
        guard numbers.count == counts.count,
            let first = query.since.map({ Self.number(of: $0, span) }) ?? numbers.min(),
            let last = until.map({ Self.number(of: $0, span) }) ?? numbers.max(), first <= last,
            numbers.allSatisfy({ (first...last).contains($0) }), !last.subtractingReportingOverflow(first).overflow,
            last - first < CountCommand.valuesMax
        else { return counts }
        let known = Dictionary(zip(numbers, counts.map(\.letters)), uniquingKeysWith: +)
        return (first...last).map { number in .init(value: text(number, span), letters: known[number] ?? 0) }
    }
}
