import Commands
import JSON
import Operations

/// The result of `bench verify`, as a table and as JSON.
struct VerifyReport: BenchReport {
    let measurements: [VerifyBenchmark.Measurement]
    let threads: Int

    private func rounds(_ item: VerifyBenchmark.Case, threads: Int = 1) -> [RateMeter.Rate] {
        measurements.first { $0.case == item && $0.threads == threads }?.rounds ?? []
    }

    /// The median of each round's ratio, so that a busy moment of the machine moves both sides.
    private func cost(of item: VerifyBenchmark.Case, to other: VerifyBenchmark.Case, threads: Int = 1) -> Double {
        let pairs = zip(rounds(item, threads: threads), rounds(other, threads: threads))
        return VerifyBenchmark.Measurement.median(pairs.map { $0.cpuMicroseconds / $1.cpuMicroseconds })
    }

    /// The verifier's gain by more threads, relative to OpenSSL's gain in the same round.
    private var gain: Double {
        let raw = zip(rounds(.raw), rounds(.raw, threads: threads))
        let warm = zip(rounds(.warm), rounds(.warm, threads: threads))
        return VerifyBenchmark.Measurement.median(
            zip(raw, warm).map { raw, warm in
                (warm.1.perSecond / warm.0.perSecond) / (raw.1.perSecond / raw.0.perSecond)
            })
    }

    /// The verifier's rate where the chain is known, of OpenSSL's rate over the same bytes.
    var warmToRaw: Goal {
        let ratio = cost(of: .raw, to: .warm)
        return Goal("verifier / OpenSSL alone, one thread", "warm_to_raw", ratio, atLeast: 1.5)
    }

    var goals: [Goal] {
        var goals = [
            warmToRaw,
            Goal(
                "cost of a forged chain / a good record without a table", "foreign_chain_cost",
                cost(of: .foreignChain, to: .withoutTable), atMost: 3),
            Goal("cost of a new leaf / a new chain", "new_leaf_cost", cost(of: .newLeaf, to: .newChain), atMost: 0.70),
            Goal(
                "cost of a forged leaf / a good record without a table", "forged_leaf_cost",
                cost(of: .forgedLeaf, to: .withoutTable), atMost: 16),
            Goal(
                "cost of a forged signature / a good record", "forged_signature_cost",
                cost(of: .forgedSignature, to: .warm), atMost: 1),
        ]
        if threads > 1 {
            let name = "verifier's gain by \(threads) threads / OpenSSL's gain"
            goals.append(Goal(name, "gain_to_raw_gain", gain, atLeast: 0.90))
        }
        return goals
    }

    var lines: [String] {
        let table = TextTable(measurements, columns)
        return table.lines() + [""] + Goal.table(goals)
    }

    private var columns: [ReportColumn<VerifyBenchmark.Measurement>] {
        [
            .init("case") {
                "\($0.case)"
            } cell: {
                $0.case.rawValue
            }, .init("threads", \.threads),
            .init("cpu_microseconds_per_record", title: "CPU µs/record") {
                ($0.cpuMicroseconds * 100).rounded() / 100
            } cell: {
                FixedPoint.text($0.cpuMicroseconds, digits: 1)
            },
            .init("records_per_second", title: "records/s") {
                $0.recordsPerSecond.rounded()
            } cell: {
                Quantity.grouped(Int($0.recordsPerSecond))
            },
            .words("of OpenSSL", .right) {
                FixedPoint.text(cost(of: .raw, to: $0.case, threads: $0.threads), digits: 2)
            },
        ]
    }

    var json: JSONContent {
        ["benchmark": "verify", "measurements": measurements.map { JSONContent($0, columns) }] + Goal.json(goals)
    }
}
