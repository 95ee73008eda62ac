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

    func run() -> [Cost] {
        let slice = duration / (fixture.bodies.count * Self.rounds * 2)
        return fixture.bodies.map { body in
            let pairs = (0..<Self.rounds).map { _ in
                (good(body.yardstick, slice), hostile(body, slice))
            }
            return Cost(
                body: body,
                microseconds: VerifyBenchmark.Measurement.median(pairs.map(\.1)),
                ratio: VerifyBenchmark.Measurement.median(pairs.map { $1 / $0 })
            )
        }
    }

    private func good(_ yardstick: HostileBody.Yardstick, _ slice: Duration) -> Double {
        let body = fixture.good[yardstick] ?? []
        let isCold = yardstick == .newChain
        return measure(body, slice, isCold: isCold) { result in
            guard case .success(.items) = result else { return "a good body was refused" }
            return nil
        }
    }

    private func hostile(_ hostile: HostileBody, _ slice: Duration) -> Double {
        measure(hostile.body, slice, isCold: false) { result in
            guard case .failure(let refusal) = result else { return "\(hostile.name) was accepted" }
            return refusal.reason == hostile.reason
                ? nil : "\(hostile.name): \(refusal.reason.rawValue), \(refusal.detail)"
        }
    }

    /// Processor time of one verification, in microseconds, with Apple's present chain known.
    private func measure(
        _ body: [UInt8],
        _ slice: Duration,
        isCold: Bool,
        _ problem: @escaping @Sendable (Result<VerifiedBody, Refusal>) -> String?
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
            return { _ in
                if let problem = problem(verifier.verify(body)) {
                    preconditionFailure(problem)
                }
            }
        }.cpuMicroseconds
    }
}
