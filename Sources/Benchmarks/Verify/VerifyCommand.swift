import Foundation
import Operations
import Settings

/// `bench verify`.
enum VerifyCommand {
    private static let syntax = CommandSyntax(
        "bench verify",
        """
        Measures the whole verifier on signed transactions of about 5 kB against OpenSSL alone \
        (SHA-256 and P-256 over the same bytes, contexts reused), interleaved in one run; then \
        what hostile bodies cost beside good ones. Exit code 1 where one costs more than its bound.
        """,
        options: [
            CommandOption("seconds", argument: "N", "How long to measure each of the two (10)."),
            CommandOption("records", argument: "N", "How many different records (500)."),
            CommandOption("threads", argument: "N", "How many threads \"all\" are (all cores)."),
            CommandOption("json", "Write JSON instead of a table."),
        ]
    )

    static func run(_ arguments: some Sequence<String>, console: Console) throws -> Int32 {
        let options = try syntax.parse(arguments)
        guard !options.isHelpWanted else {
            console.print(text: syntax.help)
            return ExitCode.success
        }
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let seconds = try BenchOptions.number(options, "seconds", in: 1...3_600) ?? 10
        let records = try BenchOptions.number(options, "records", in: 1...100_000) ?? 500
        let threads = try BenchOptions.number(options, "threads", in: 1...256) ?? cores
        let benchmark = VerifyBenchmark(
            fixture: try VerifyFixture(recordCount: records),
            threads: threads,
            duration: .seconds(seconds)
        )
        let report = VerifyReport(benchmark.run(), threads: threads)
        let hostile = HostileReport(
            costs: try HostileBenchmark(
                fixture: try HostileFixture(),
                duration: .seconds(seconds)
            ).run()
        )
        if options.isSet("json") {
            console.print(json: report.json(with: hostile))
        } else {
            for line in report.lines + [""] + hostile.lines + [""] + VerifierSteps().lines {
                console.print(line)
            }
        }
        return hostile.areBounded ? ExitCode.success : ExitCode.negative
    }
}
