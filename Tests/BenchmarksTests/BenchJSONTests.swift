import AppStore
import JSON
import Settings
import TestSupport
import Testing

@testable import Benchmarks

/// The lines of `bench` with `--json` fit the published schemas.
@Suite(.timeLimit(.minutes(10))) struct BenchJSONTests {
    @Test func `a short measurement fits its schema`() async {
        let transcript = ConsoleTranscript()
        let arguments = ["dead-letters", "--records=1000", "--groups=10", "--json"]
        let context = CommandContext(console: transcript.console(), environment: [:])
        let code = await BenchCommand.tool.run(arguments, in: context)
        // 1 where a cost is beyond its bound, as in a debug build.
        #expect([0, 1].contains(code), "\(transcript.notes)")
        #expect(!transcript.output.isEmpty)
        PublishedSchema.expect("bench", arguments, transcript.output.utf8)
    }

    @Test func `the reports of the verifier and of dedupe-worker fit their schemas`() {
        let rounds = [RateMeter.Rate(perSecond: 20_000, cpuMicroseconds: 50)]
        let measurements = VerifyBenchmark.Case.allCases.flatMap { item in
            [1, 2].map { VerifyBenchmark.Measurement(case: item, threads: $0, rounds: rounds) }
        }
        let cost = HostileBenchmark.Cost(
            body: HostileCase("a forged chain", [[0]], .signatureInvalid),
            microseconds: 60,
            ratio: 1.2,
            recordRatio: 1.2,
            signatures: 0
        )
        let verifier = VerifyReport(
            measurements: measurements,
            threads: 2,
            hostile: HostileReport(costs: [cost])
        )
        PublishedSchema.expect("bench", ["verify", "--json"], verifier.json.bytes)
        let dedupe = DedupeMeasurement(
            recordCount: 100_000,
            recordBytes: 4_000,
            recordsPerSecond: 40_000,
            workerMicroseconds: 14,
            postgresMicroseconds: 6,
            residentBytesMax: 50_000_000
        )
        PublishedSchema.expect("bench", ["dedupe", "--json"], dedupe.json.bytes)
    }
}
