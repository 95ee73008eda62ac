import OpenSSL
import Testing
import Worker

@Suite struct BreakerTests {
    private let start = ContinuousClock.now

    private func breaker(refusedMax: Int = 3) -> Breaker {
        Breaker(settings: "a", bounds: .init(refusedMax: refusedMax))
    }

    private func record(_ value: UInt8, _ bundleID: String? = "com.example.typo", _ environment: String? = "Production")
        -> Breaker.Refused
    {
        Breaker.Refused(
            content: SHA256.digest([value]),
            subject: "\(bundleID ?? "no bundle ID") in \(environment ?? "no environment")")
    }

    private func refused(_ values: UInt8..., accepted: Bool = false) -> [Breaker.Evidence] {
        values.map { .refused(record($0)) } + (accepted ? [.accepted] : [])
    }

    /// Evaluates one batch after the other.
    private func evaluate(_ breaker: inout Breaker, _ batches: [Breaker.Evidence]...) -> [Breaker.Decision] {
        batches.map { breaker.evaluate($0, now: start) }
    }

    @Test func `refusals by the settings are held until the limit, then it trips`() {
        var breaker = breaker()
        let decisions = evaluate(&breaker, refused(1, 2), refused(3), refused())
        #expect(decisions == [.hold, .holdAll, .holdAll])
        #expect(breaker.state == .tripped)
    }

    @Test func `the same payload posted again does not count again`() {
        var breaker = breaker()
        let decisions = evaluate(&breaker, refused(1, 2, 1, 2), refused(1, 2), refused(2, 1))
        #expect(decisions == [.hold, .hold, .hold])
        #expect(breaker.report == ["com.example.typo in Production: 2"])
    }

    @Test func `the first accepted record disarms it for good`() {
        var breaker = breaker()
        let decisions = evaluate(&breaker, refused(1), refused(2, 3, 4, accepted: true), refused(5, 6, 7, 8))
        #expect(decisions == [.hold, .disarm, .pass])
        #expect(breaker.state == .disarmed)
        #expect(breaker.hasAccepted)
    }

    @Test func `a minute from the first batch on without reaching the limit disarms it`() {
        var breaker = breaker()
        let early = breaker.tick(start + .seconds(600))
        let held = evaluate(&breaker, refused(1))
        let ticks = [59, 60, 61].map { breaker.tick(start + .seconds($0)) }
        let passed = evaluate(&breaker, refused(2, 3, 4))
        #expect(!early)
        #expect(held == [.hold])
        #expect(ticks == [false, true, false])
        #expect(passed == [.pass])
        #expect(!breaker.hasAccepted)
        let later = evaluate(&breaker, refused(accepted: true))
        #expect(later == [.pass])
        #expect(breaker.hasAccepted)
    }

    @Test func `once tripped no time helps, and the first accepted record does`() {
        var breaker = breaker()
        let tripped = evaluate(&breaker, refused(1, 2, 3))
        let hasTicked = breaker.tick(start + .seconds(600))
        let decisions = evaluate(&breaker, refused(), refused(4, accepted: true), refused(5))
        #expect(tripped + decisions == [.holdAll, .holdAll, .disarm, .pass])
        #expect(!hasTicked)
    }

    @Test func `settings that have accepted a record elsewhere disarm it, tripped or not`() {
        for values in [[], [1], [1, 2, 3]] as [[UInt8]] {
            var breaker = breaker()
            let findings = values.map { Breaker.Evidence.refused(record($0)) }
            _ = breaker.evaluate(findings, now: start)
            let (first, second) = (breaker.accepted(), breaker.accepted())
            #expect(first && !second)
            let decisions = evaluate(&breaker, refused(5, 6, 7, 8))
            #expect(decisions == [.pass])
        }
    }

    @Test func `other dead letters leave it as it is`() {
        var breaker = breaker()
        let decisions = evaluate(&breaker, refused())
        #expect(decisions == [.pass])
        #expect(breaker.state == .armed)
    }

    @Test func `the report names the most frequent apps, bounded and fit for a terminal`() {
        var breaker = breaker(refusedMax: 200)
        let hostile = "\u{1B}[2J" + String(repeating: "x", count: 300)
        let records =
            (0..<40).map { record($0, "com.example.a", "Sandbox") } + (40..<50).map { record($0, nil, nil) } + [
                record(50, hostile), record(51, hostile),
            ] + (60..<100).map { record($0, "com.example.\($0)") }
        _ = breaker.evaluate(records.map { .refused($0) }, now: start)
        #expect(breaker.report.prefix(2) == ["com.example.a in Sandbox: 40", "no bundle ID in no environment: 10"])
        #expect(breaker.report.count == 21)
        #expect(breaker.report.last == "others: 23")
        #expect(breaker.report[2].hasPrefix("\\u{1b}[2Jxxx"))
        #expect(breaker.report.allSatisfy { $0.utf8.count < 250 && !$0.contains("\u{1B}") })
    }
}
