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
            CommandOption("facts", argument: "N", "Facts stored before (10000)."),
        ]
    )

    static func run(_ arguments: some Sequence<String>, console: Console) async throws -> Int32 {
        let options = try syntax.parse(arguments)
        guard !options.isHelpWanted else {
            console.print(syntax.help)
            return ExitCode.success
        }
        let benchmark = EntitleBenchmark(
            kinds: try kinds(options.value("kinds")),
            records: try BenchOptions.number(options, "records", in: 1...10_000_000) ?? 20_000,
            batch: try BenchOptions.number(options, "batch", in: 1...100_000) ?? 1_000,
            lanes: try BenchOptions.number(options, "lanes", in: 1...32) ?? 2,
            storedFacts: try BenchOptions.number(options, "facts", in: 0...100_000_000) ?? 10_000
        )
        let measurements = try await benchmark.run { console.note($0) }
        var table = TextTable([
            .init("kind"), .init("records/s", .right), .init("CPU µs/record", .right),
            .init("PostgreSQL µs/record", .right),
        ])
        for item in measurements {
            table.add([
                item.kind.summary, Quantity.grouped(Int(item.perSecond)),
                Quantity.grouped(Int(item.cpuMicroseconds.rounded())),
                Quantity.grouped(Int(item.serverMicroseconds.rounded())),
            ])
        }
        for line in table.lines() {
            console.print(line)
        }
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
