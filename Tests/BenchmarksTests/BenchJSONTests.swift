import JSON
import Testing
import TestSupport

@testable import Benchmarks

/// The lines of `bench` with `--json` fit the published schemas.
@Suite struct BenchJSONTests {
    @Test func `the report of the verifier fits its schema`() {
        let rounds = [RateMeter.Rate(perSecond: 20_000, cpuMicroseconds: 50)]
        let measurements = VerifyBenchmark.Case.allCases.flatMap { item in
            [1, 2].map { VerifyBenchmark.Measurement(case: item, threads: $0, rounds: rounds) }
        }
        let report = VerifyReport(measurements: measurements, threads: 2)
        PublishedSchema.expect("bench", ["verify", "--json"], report.json.bytes)
    }
}
