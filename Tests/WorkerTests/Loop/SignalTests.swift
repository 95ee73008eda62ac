import Testing

@testable import Worker

@Suite struct SignalTests {
    @Test func `a signal before the wait is not lost`() async {
        let signal = Signal()
        signal.send()
        let start = ContinuousClock.now
        await signal.wait(for: .seconds(60))
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `a signal ends a wait, and a wait ends by itself`() async {
        let signal = Signal()
        let start = ContinuousClock.now
        async let waiting: Void = signal.wait(for: .seconds(60))
        signal.send()
        await waiting
        await signal.wait(for: .milliseconds(1))
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func `many signals and waits lose none`() async {
        let signal = Signal()
        let sending = Task {
            for _ in 0..<2_000 { signal.send() }
        }
        for _ in 0..<200 {
            await signal.wait(for: .microseconds(50))
        }
        await sending.value
    }
}
