import Settings

/// `bench entitle`.
enum EntitleCommand {
    private static let syntax = CommandSyntax(
        "bench entitle",
        """
        Measures the entitle stage by kind of record: records per second, and processor time of \
        this program and of the PostgreSQL that it starts beside itself.
        """,
        options: [
            CommandOption("kinds", argument: "LIST", "Kinds, separated by commas (all)."),
            CommandOption("records", argument: "N", "Records of each kind (20000)."),
            CommandOption("batch", argument: "N", "Records in a batch (1000)."),
            CommandOption("shards", argument: "N", "Transactions at once (2)."),
            CommandOption(
                "facts",
                argument: "LIST",
                "How many facts are stored before, one measurement after the other (10000)."
            ),
        ]
    )

    static let command = ToolCommand(syntax: syntax) { options, context in
        let console = context.console
        var measurements: [EntitleBenchmark.Measurement] = []
        for facts in try BenchOptions.numbers(options, "facts", in: 0...100_000_000) ?? [10_000] {
            let benchmark = EntitleBenchmark(
                kinds: try kinds(options.value("kinds")),
                records: try BenchOptions.number(options, "records", in: 1...10_000_000) ?? 20_000,
                batch: try BenchOptions.number(options, "batch", in: 1...100_000) ?? 1_000,
                shards: try BenchOptions.number(options, "shards", in: 1...32) ?? 2,
                storedFacts: facts
            )
            measurements += try await benchmark.run { console.note($0) }
        }
        EntitleReport(measurements: measurements).lines.forEach { console.print($0) }
        return ExitCode.success
    }

    private static func kinds(_ list: String?) throws(UsageError) -> [EntitleKind] {
        guard let list else { return EntitleKind.allCases }
        var kinds: [EntitleKind] = []
        for name in list.split(separator: ",") {
            guard let kind = EntitleKind(rawValue: String(name)) else {
                let known = EntitleKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("--kinds: expected some of \(known), found \"\(name)\"")
            }
            kinds.append(kind)
        }
        return kinds
    }
}

/// The measurements, and how they compare.
struct EntitleReport {
    let measurements: [EntitleBenchmark.Measurement]

    var lines: [String] {
        table + growth + longSubscriptions
    }

    private var table: [String] {
        var table = TextTable([
            .init("kind"), .init("facts stored", .right), .init("records/s", .right),
            .init("CPU µs/record", .right), .init("PostgreSQL µs/record", .right),
        ])
        for item in measurements {
            table.add([
                item.kind.summary, Quantity.grouped(item.storedFacts),
                Quantity.grouped(Int(item.perSecond)),
                Quantity.grouped(Int(item.cpuMicroseconds.rounded())),
                Quantity.grouped(Int(item.serverMicroseconds.rounded())),
            ])
        }
        return table.lines()
    }

    /// Growth of the processor time per record from the fewest stored facts to the most.
    private var growth: [String] {
        EntitleKind.allCases.compactMap { kind in
            let same = measurements.filter { $0.kind == kind }
                .sorted { $0.storedFacts < $1.storedFacts }
            guard let first = same.first, let last = same.last,
                first.storedFacts < last.storedFacts
            else { return nil }
            let ratio = last.wholeMicroseconds / first.wholeMicroseconds
            return "\(kind.summary): \(FixedPoint.text(ratio, digits: 2)) × with "
                + "\(Quantity.grouped(last.storedFacts)) facts"
        }
    }

    private var longSubscriptions: [String] {
        measurements.filter { $0.kind == .longRenewal }.compactMap { long in
            let short = measurements.first {
                $0.kind == .renewal && $0.storedFacts == long.storedFacts
            }
            guard let short else { return nil }
            let ratio = long.wholeMicroseconds / short.wholeMicroseconds
            return "\(long.kind.summary): \(FixedPoint.text(ratio, digits: 2)) × the third"
        }
    }
}
