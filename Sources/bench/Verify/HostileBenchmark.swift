import AppStore

/// What hostile bodies cost, each beside the good one that it is measured by.
struct HostileBenchmark {
    struct Cost {
        let body: HostileBody
        let microseconds: Double
        /// Of the yardstick's processor time, the median of all rounds.
        let ratio: Double

        var isBounded: Bool { (ratio * 100).rounded() / 100 <= body.bound }
    }

    let fixture: HostileFixture
    let duration: Duration

    private static let rounds = 7

    /// Throws `BenchError` where a body has another verdict than it is measured for.
    func run() throws -> [Cost] {
        try check()
        let slice = duration / (fixture.bodies.count * Self.rounds * 2)
        return fixture.bodies.map { body in
            let pairs = (0..<Self.rounds).map { _ in
                (good(body.yardstick, slice), measure(body.bodies, slice, isCold: false))
            }
            return Cost(
                body: body,
                microseconds: VerifyBenchmark.Measurement.median(pairs.map(\.1)),
                ratio: VerifyBenchmark.Measurement.median(pairs.map { $1 / $0 })
            )
        }
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

    private func good(_ yardstick: HostileBody.Yardstick, _ slice: Duration) -> Double {
        measure([fixture.good[yardstick] ?? []], slice, isCold: yardstick == .newChain)
    }

    /// Processor time of one verification, in microseconds, with Apple's present chain known.
    private func measure(
        _ bodies: [[UInt8]],
        _ slice: Duration,
        isCold: Bool
    ) -> Double {
        let (fixture, record) = (fixture, fixture.good[.record])
        return RateMeter.rate(threads: 1, duration: slice) {
            var limits = VerifierLimits.standard
            if isCold { limits.chainsCachedMax = 0 }
            let verifier = Verifier(
                configuration: VerifierConfiguration(
                    apps: fixture.configuration.apps,
                    limits: limits
                )
            )
            _ = verifier.verify(record)
            return { index in _ = verifier.verify(bodies[index % bodies.count]) }
        }.cpuMicroseconds
    }
}
