import Operations
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
            CommandOption("lanes", argument: "N", "Transactions at once (2)."),
            CommandOption(
                "facts",
                argument: "LIST",
                "How many facts are stored before, one measurement after the other (10000)."
            ),
        ]
    )

    static func run(_ arguments: some Sequence<String>, console: Console) async throws -> Int32 {
        let options = try syntax.parse(arguments)
        guard !options.isHelpWanted else {
            console.print(text: syntax.help)
            return ExitCode.success
        }
        var measurements: [EntitleBenchmark.Measurement] = []
        for facts in try facts(options.value("facts")) {
            let benchmark = EntitleBenchmark(
                kinds: try kinds(options.value("kinds")),
                records: try BenchOptions.number(options, "records", in: 1...10_000_000) ?? 20_000,
                batch: try BenchOptions.number(options, "batch", in: 1...100_000) ?? 1_000,
                lanes: try BenchOptions.number(options, "lanes", in: 1...32) ?? 2,
                storedFacts: facts
            )
            measurements += try await benchmark.run { console.note($0) }
        }
        for line in EntitleReport(measurements).lines {
            console.print(line)
        }
        return ExitCode.success
    }

    private static func facts(_ list: String?) throws(UsageError) -> [Int] {
        var facts: [Int] = []
        for text in (list ?? "10000").split(separator: ",") {
            guard let count = Int(text), (0...100_000_000).contains(count) else {
                throw UsageError("--facts: expected numbers up to 100000000, found \"\(text)\"")
            }
            facts.append(count)
        }
        return facts
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
