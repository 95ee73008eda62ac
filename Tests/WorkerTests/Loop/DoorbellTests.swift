import Testing

@testable import Worker

@Suite struct DoorbellTests {
    @Test func `a ring before the wait is not lost`() async {
        let bell = Doorbell()
        bell.ring()
        let start = ContinuousClock.now
        await bell.wait(for: .seconds(60))
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `a ring ends a wait, and a wait ends by itself`() async {
        let bell = Doorbell()
        let start = ContinuousClock.now
        async let waiting: Void = bell.wait(for: .seconds(60))
        bell.ring()
        await waiting
        await bell.wait(for: .milliseconds(1))
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `many rings and waits lose none`() async {
        let bell = Doorbell()
        let ringing = Task {
            for _ in 0..<2_000 { bell.ring() }
        }
        for _ in 0..<200 {
            await bell.wait(for: .microseconds(50))
        }
        await ringing.value
    }
}
