import AppStore
import JSON
import Operations
import Settings

/// The costs of hostile bodies, each beside the good body that it is compared with.
struct HostileBenchmark {
    struct Cost {
        let body: HostileCase
        let microseconds: Double
        /// Processor time relative to the yardstick's, the median of all rounds.
        let ratio: Double
        /// Processor time relative to that of a record whose chain is known.
        let recordRatio: Double
        /// How many signatures of certificates one takes.
        let signatures: Int

        var isBounded: Bool {
            (ratio * 100).rounded() / 100 <= body.bound && signatures <= body.signaturesMax
        }
    }

    private struct Round {
        let record: Double
        let good: Double
        let hostile: Double
    }

    let fixture: HostileFixture
    let duration: Duration

    private static let rounds = 7

    /// Throws `BenchError` if a body has another verdict than it is measured for.
    func run() throws -> [Cost] {
        try check()
        let slice = duration / (fixture.bodies.count * Self.rounds * 3)
        return fixture.bodies.map { body in
            let rounds = (0..<Self.rounds).map { _ in
                Round(
                    record: good(.record, slice),
                    good: good(body.yardstick, slice),
                    hostile: measure(body.bodies, slice, HostileCase.Yardstick.record.limits)
                )
            }
            let median = VerifyBenchmark.Measurement.median
            return Cost(
                body: body,
                microseconds: median(rounds.map(\.hostile)),
                ratio: median(rounds.map { $0.hostile / $0.good }),
                recordRatio: median(rounds.map { $0.hostile / $0.record }),
                signatures: signatures(body)
            )
        }
    }

    /// Signatures computed the second time, when caches are warm; rounded up.
    private func signatures(_ body: HostileCase) -> Int {
        let verifier = Verifier(configuration: fixture.configuration)
        _ = verifier.verify(fixture.good[.record])
        for bytes in body.bodies {
            _ = verifier.verify(bytes)
        }
        let before = verifier.certificateSignaturesComputed
        for bytes in body.bodies {
            _ = verifier.verify(bytes)
        }
        let count = verifier.certificateSignaturesComputed - before
        return (count + body.bodies.count - 1) / body.bodies.count
    }

    private func check() throws {
        let verifier = Verifier(configuration: fixture.configuration)
        var problems: [String] = []
        for (yardstick, body) in fixture.good {
            guard case .success(.items) = verifier.verify(body) else {
                problems.append("the good body of \"\(yardstick.rawValue)\" is refused")
                continue
            }
        }
        for body in fixture.bodies {
            guard case .failure(let refusal) = verifier.verify(body.bodies[0]) else {
                problems.append("\"\(body.name)\" is accepted")
                continue
            }
            if refusal.reason != body.reason {
                problems.append("\"\(body.name)\" is \(refusal.reason.rawValue)")
            }
        }
        guard problems.isEmpty else {
            throw BenchError(problems.sorted().joined(separator: ", "))
        }
    }

    private func good(_ yardstick: HostileCase.Yardstick, _ slice: Duration) -> Double {
        measure([fixture.good[yardstick] ?? []], slice, yardstick.limits)
    }

    /// Processor time of one verification, in microseconds, with Apple's present chain known.
    private func measure(
        _ bodies: [[UInt8]],
        _ slice: Duration,
        _ limits: VerifierLimits
    ) -> Double {
        let (fixture, record) = (fixture, fixture.good[.record])
        return RateMeter.rate(threads: 1, duration: slice) {
            let verifier = Verifier(
                configuration: VerifierConfiguration(
                    apps: fixture.configuration.apps,
                    limits: limits
                )
            )
            _ = verifier.verify(record)
            // Not by the number of the call, which starts again after the warm-up.
            var next = 0
            return { _ in
                _ = verifier.verify(bodies[next])
                next = (next + 1) % bodies.count
            }
        }.cpuMicroseconds
    }
}

/// The costs of hostile bodies, as a table and as JSON.
///
/// Each is bounded by the good body that it is measured by, and by how many signatures of
/// certificates it takes; beside it stands its cost in records whose chain is known.
struct HostileReport {
    let costs: [HostileBenchmark.Cost]

    var areBounded: Bool { costs.allSatisfy(\.isBounded) }

    var lines: [String] {
        var table = TextTable([
            .init("hostile body"), .init("refused as"), .init("kB", .right),
            .init("CPU µs", .right), .init("of a record", .right), .init("signatures", .right),
            .init("measured by"), .init("ratio", .right), .init("bound", .right), .init(""),
        ])
        for cost in costs {
            table.add([
                cost.body.name,
                cost.body.reason.rawValue,
                FixedPoint.text(Double(cost.body.bodies[0].count) / 1_000, digits: 1),
                FixedPoint.text(cost.microseconds, digits: 1),
                FixedPoint.text(cost.recordRatio, digits: 2),
                "\(cost.signatures) ≤ \(cost.body.signaturesMax)",
                cost.body.yardstick.rawValue,
                FixedPoint.text(cost.ratio, digits: 2),
                "≤ " + FixedPoint.text(cost.body.bound, digits: 2),
                cost.isBounded ? "held" : "EXCEEDED",
            ])
        }
        return table.lines()
    }

    /// The member `hostile`: names to ratios.
    var json: JSONContent {
        ["hostile": JSONContent.object(costs.map { ($0.body.name, .figure($0.ratio, digits: 3)) })]
    }
}
