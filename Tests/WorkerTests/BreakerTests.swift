import OpenSSL
import Testing
import Worker

@Suite struct BreakerTests {
    private let start = ContinuousClock.now

    private func breaker() -> Breaker {
        Breaker(distinctMax: 3, window: .seconds(60), now: start)
    }

    private func refused(_ values: UInt8..., accepted: Bool = false) -> Breaker.Findings {
        Breaker.Findings(hasAccepted: accepted, refused: values.map { SHA256.digest([$0]) })
    }

    /// Judges one batch after the other.
    private func judge(
        _ breaker: inout Breaker,
        _ batches: Breaker.Findings...
    ) -> [Breaker.Decision] {
        batches.map { breaker.judge($0) }
    }

    @Test func `refusals by the settings are held until the limit, then it trips`() {
        var breaker = breaker()
        let decisions = judge(&breaker, refused(1, 2), refused(3), refused())
        #expect(decisions == [.hold, .trip, .trip])
        #expect(breaker.state == .tripped)
    }

    @Test func `the same value posted again does not count again`() {
        var breaker = breaker()
        let decisions = judge(&breaker, refused(1, 2, 1, 2), refused(1, 2), refused(2, 1))
        #expect(decisions == [.hold, .hold, .hold])
    }

    @Test func `the first accepted record disarms it for good`() {
        var breaker = breaker()
        let decisions = judge(
            &breaker,
            refused(1),
            refused(2, 3, 4, accepted: true),
            refused(5, 6, 7, 8)
        )
        #expect(decisions == [.hold, .disarm, .pass])
        #expect(breaker.state == .disarmed)
    }

    @Test func `a minute without reaching the limit disarms it`() {
        var breaker = breaker()
        let held = judge(&breaker, refused(1))
        let ticks = [59, 60, 61].map { breaker.tick(start + .seconds($0)) }
        let passed = judge(&breaker, refused(2, 3, 4))
        #expect(held == [.hold])
        #expect(ticks == [false, true, false])
        #expect(passed == [.pass])
    }

    @Test func `once tripped no time and no record helps`() {
        var breaker = breaker()
        let tripped = judge(&breaker, refused(1, 2, 3))
        let hasTicked = breaker.tick(start + .seconds(600))
        let still = judge(&breaker, refused(accepted: true))
        #expect(tripped + still == [.trip, .trip])
        #expect(!hasTicked)
    }

    @Test func `other dead letters leave it as it is`() {
        var breaker = breaker()
        let decisions = judge(&breaker, refused())
        #expect(decisions == [.pass])
        #expect(breaker.isArmed)
    }
}
