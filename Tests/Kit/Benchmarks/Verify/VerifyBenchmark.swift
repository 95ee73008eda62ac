import AppStore
import Commands
import Foundation
import KitWrappers
import OpenSSL
import Operations
import Settings

/// Measures the verifier's cases in rounds, so that a busy moment of the machine hits all alike.
struct VerifyBenchmark {
    enum Case: String, CaseIterable {
        case raw = "OpenSSL alone"
        case warm = "verifier, chain known"
        case withoutTable = "verifier, chain known, no table of its key"
        case newLeaf = "verifier, leaf new each time"
        case newChain = "verifier, chain new each time"
        case foreignChain = "forged chain"
        case forgedLeaf = "forged leaf, genuine certificates above it"
        case forgedSignature = "forged signature"
    }

    struct Measurement {
        let `case`: Case
        let threads: Int
        let rounds: [RateMeter.Rate]

        var recordsPerSecond: Double { Self.median(rounds.map(\.perSecond)) }
        var cpuMicroseconds: Double { Self.median(rounds.map(\.cpuMicroseconds)) }

        static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    }

    let fixture: VerifyFixture
    /// Number of threads in the measurements with more than one.
    let threads: Int
    let duration: Duration
    var cases = Case.allCases

    private static let rounds = 15

    func run() -> [Measurement] {
        let plan: [(Case, Int)] = cases.map { ($0, 1) } + (threads > 1 ? [(.raw, threads), (.warm, threads)] : [])
        var rates = [[RateMeter.Rate]](repeating: [], count: plan.count)
        let slice = duration / (plan.count * Self.rounds)
        for _ in 0..<Self.rounds {
            for (index, (item, threads)) in plan.enumerated() {
                rates[index].append(RateMeter.rate(threads: threads, duration: slice) { work(item) })
            }
        }
        return zip(plan, rates).map { plan, rates in Measurement(case: plan.0, threads: plan.1, rounds: rates) }
    }

    private func work(_ item: Case) -> (Int) -> Void {
        let (fixture, verifier) = (fixture, fixture.verifier())
        switch item {
        case .raw:
            let baseline = VerificationBaseline(subjectPublicKeyInfo: fixture.key)
            return { index in
                let record = fixture.raw[index % fixture.raw.count]
                let isValid = baseline.verify(der: record.signature, over: record.message)
                precondition(isValid, "the benchmark's own signature does not verify")
            }
        case .warm: return verifying(fixture.good, with: verifier)
        case .withoutTable: return verifying(fixture.good, with: fixture.verifier(knowing: .chains))
        case .newLeaf: return verifying(fixture.good, with: fixture.verifier(knowing: .intermediates))
        case .newChain: return verifying(fixture.good, with: fixture.verifier(knowing: .nothing))
        case .foreignChain: return verifying(fixture.foreignChain, with: verifier, expecting: .rootUntrusted)
        case .forgedLeaf: return verifying(fixture.forgedLeaf, with: verifier, expecting: .chainInvalid)
        case .forgedSignature:
            // Forgeries come under a header that genuine records have made known.
            _ = verifier.verify(fixture.good[0])
            return verifying(fixture.forgedSignature, with: verifier, expecting: .signatureInvalid)
        }
    }

    private func verifying(_ bodies: [[UInt8]], with verifier: Verifier, expecting reason: RefusalReason? = nil) -> (
        Int
    ) -> Void {
        { index in
            switch verifier.verify(bodies[index % bodies.count]) {
            case .success: precondition(reason == nil, "a forgery was accepted")
            case .failure(let refusal): precondition(refusal.reason == reason, "refused: \(refusal.reason)")
            }
        }
    }
}

/// `bench verify`.
enum VerifyCommand {
    private static let syntax = CommandSyntax(
        "bench verify",
        """
        Measures the whole verifier on signed transactions of about 5 kB against OpenSSL alone \
        (SHA-256 and P-256 over the same bytes, contexts reused), interleaved in one run.
        """,
        options: [
            CommandOption("seconds", argument: "N", "How long to measure each of the two (10)."),
            CommandOption("records", argument: "N", "How many different records (500)."),
            CommandOption("threads", argument: "N", "How many threads \"all\" are (all cores)."), .json,
        ])

    static let command = ToolCommand(syntax: syntax) { options, context in
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let seconds = try BenchOptions.number(options, "seconds", in: 1...3_600) ?? 10
        let records = try BenchOptions.number(options, "records", in: 1...100_000) ?? 500
        let threads = try BenchOptions.number(options, "threads", in: 1...256) ?? cores
        let benchmark = VerifyBenchmark(
            fixture: try VerifyFixture(recordCount: records), threads: threads, duration: .seconds(seconds))
        context.console.print(VerifyReport(measurements: benchmark.run(), threads: threads), options)
        return ExitCode.success
    }
}
