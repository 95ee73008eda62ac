import TestSupport
import Testing

@testable import Worker

@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    @Test func `a signal before the wait is not lost`() async {
        let signal = Signal()
        signal.send()
        let start = ContinuousClock.now
        await signal.wait(for: .seconds(3_600))
        #expect(ContinuousClock.now - start < .hopeless)
    }

    @Test func `a signal ends a wait, and a wait ends by itself`() async {
        let signal = Signal()
        let start = ContinuousClock.now
        async let waiting: Void = signal.wait(for: .seconds(3_600))
        signal.send()
        await waiting
        await signal.wait(for: .milliseconds(1))
        #expect(ContinuousClock.now - start < .hopeless)
    }

    @Test func `many signals and waits lose none`() async throws {
        let signal = Signal()
        let start = ContinuousClock.now
        for _ in 0..<200 {
            signal.send()
            await signal.wait(for: .seconds(3_600))
            // One that comes as the wait begins.
            let sending = Task { signal.send() }
            await signal.wait(for: .seconds(3_600))
            await sending.value
            try #require(ContinuousClock.now - start < .hopeless)
        }
    }

    @Test func `a wait that ends as signals come ends once, and the next signal ends the next`() async {
        let signal = Signal()
        let start = ContinuousClock.now
        let sending = Task {
            // About as often as the waits end by themselves.
            let pause = Signal()
            while !Task.isCancelled {
                await pause.wait(for: .microseconds(50))
                signal.send()
            }
        }
        for _ in 0..<2_000 { await signal.wait(for: .microseconds(50)) }
        sending.cancel()
        await sending.value
        signal.send()
        await signal.wait(for: .seconds(3_600))
        #expect(ContinuousClock.now - start < .hopeless)
    }
}
