import Testing

@testable import Worker

@Suite struct BackoffTests {
    @Test func `waits double up to their bound and begin again after a reset`() {
        var backoff = Backoff(delayMin: .milliseconds(100), delayMax: .milliseconds(350))
        let delays = (0..<4).map { _ in backoff.nextDelay(jitter: 1) }
        #expect(delays == [.milliseconds(100), .milliseconds(200), .milliseconds(350), .milliseconds(350)])
        backoff.reset()
        let delay = backoff.nextDelay(jitter: 0.5)
        #expect(delay == .milliseconds(50))
    }

    @Test func `the jitter keeps between half and the whole`() {
        var backoff = Backoff(delayMin: .seconds(1), delayMax: .seconds(1))
        for _ in 0..<100 {
            let delay = backoff.nextDelay()
            #expect(delay >= .milliseconds(500) && delay <= .seconds(1))
        }
    }

    @Test func `a wait does not spin when its task is cancelled`() async {
        let waiting = Task {
            var (backoff, looks) = (Backoff(delayMin: .seconds(1), delayMax: .seconds(1)), 0)
            await backoff.wait {
                looks += 1
                return false
            }
            return looks
        }
        waiting.cancel()
        let looks = await waiting.value
        #expect(looks > 0 && looks <= 11)
    }
}
