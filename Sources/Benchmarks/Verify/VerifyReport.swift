import JSON
import Operations
import Settings

/// The result of `bench verify`, as a table and as JSON.
struct VerifyReport: BenchReport {
    let measurements: [VerifyBenchmark.Measurement]
    let threads: Int
    /// Nil if only the verifier was measured.
    var hostile: HostileReport?

    private func rounds(_ item: VerifyBenchmark.Case, threads: Int = 1) -> [RateMeter.Rate] {
        measurements.first { $0.case == item && $0.threads == threads }?.rounds ?? []
    }

    /// The median of each round's ratio, so that a busy moment of the machine moves both sides.
    private func cost(
        of item: VerifyBenchmark.Case,
        to other: VerifyBenchmark.Case,
        threads: Int = 1
    ) -> Double {
        let pairs = zip(rounds(item, threads: threads), rounds(other, threads: threads))
        return VerifyBenchmark.Measurement.median(
            pairs.map { $0.cpuMicroseconds / $1.cpuMicroseconds }
        )
    }

    /// The verifier's gain by more threads, relative to OpenSSL's gain in the same round.
    private var gain: Double {
        let raw = zip(rounds(.raw), rounds(.raw, threads: threads))
        let warm = zip(rounds(.warm), rounds(.warm, threads: threads))
        return VerifyBenchmark.Measurement.median(
            zip(raw, warm).map { raw, warm in
                (warm.1.perSecond / warm.0.perSecond) / (raw.1.perSecond / raw.0.perSecond)
            }
        )
    }

    /// The verifier's rate where the chain is known, of OpenSSL's rate over the same bytes.
    var warmToRaw: Goal {
        Goal(
            name: "verifier / OpenSSL alone, one thread",
            key: "warm_to_raw",
            value: cost(of: .raw, to: .warm),
            bound: 1.5,
            isCeiling: false
        )
    }

    var goals: [Goal] {
        var goals = [
            warmToRaw,
            Goal(
                name: "cost of a forged chain / a good record without a table",
                key: "foreign_chain_cost",
                value: cost(of: .foreignChain, to: .withoutTable),
                bound: 3,
                isCeiling: true
            ),
            Goal(
                name: "cost of a new leaf / a new chain",
                key: "new_leaf_cost",
                value: cost(of: .newLeaf, to: .newChain),
                bound: 0.70,
                isCeiling: true
            ),
            Goal(
                name: "cost of a forged leaf / a good record without a table",
                key: "forged_leaf_cost",
                value: cost(of: .forgedLeaf, to: .withoutTable),
                bound: 16,
                isCeiling: true
            ),
            Goal(
                name: "cost of a forged signature / a good record",
                key: "forged_signature_cost",
                value: cost(of: .forgedSignature, to: .warm),
                bound: 1,
                isCeiling: true
            ),
        ]
        if threads > 1 {
            goals.append(
                Goal(
                    name: "verifier's gain by \(threads) threads / OpenSSL's gain",
                    key: "gain_to_raw_gain",
                    value: gain,
                    bound: 0.90,
                    isCeiling: false
                )
            )
        }
        return goals
    }

    var lines: [String] {
        let table = TextTable(measurements, columns)
        let steps = hostile.map { [""] + $0.lines + [""] + VerifierSteps().lines } ?? []
        return table.lines() + [""] + Goal.table(goals) + steps
    }

    private var columns: [ReportColumn<VerifyBenchmark.Measurement>] {
        [
            .init("case") {
                "\($0.case)"
            } cell: {
                $0.case.rawValue
            },
            .init("threads", \.threads),
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
        [
            "benchmark": "verify",
            "measurements": measurements.map { JSONContent($0, columns) },
        ] + Goal.json(goals) + (hostile?.json ?? [:])
    }
}
