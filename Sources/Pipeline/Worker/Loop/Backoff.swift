/// The delays between retries: doubling up to a bound, with jitter so that workers that failed
/// together do not retry together.
struct Backoff: Sendable {
    let delayMin: Duration
    let delayMax: Duration
    private var next: Duration
    /// A delay is multiplied by a random number of this range.
    static let jitterRange = 0.5...1.0

    init(delayMin: Duration, delayMax: Duration) {
        self.delayMin = delayMin
        self.delayMax = max(delayMin, delayMax)
        next = delayMin
    }

    /// Returns between half of the current delay and all of it, and doubles the next one.
    mutating func nextDelay() -> Duration { nextDelay(jitter: Double.random(in: Self.jitterRange)) }

    mutating func nextDelay(jitter: Double) -> Duration {
        let delay = next
        next = min(next * 2, delayMax)
        return delay * jitter
    }

    /// Waits for the next delay, in short steps, so that the end is noticed.
    mutating func wait(unless isOver: () -> Bool) async {
        let end = ContinuousClock.now + nextDelay()
        while ContinuousClock.now < end, !isOver() {
            // A task of its own, because a cancelled one does not sleep.
            await Task { try? await Task.sleep(for: min(end - .now, .milliseconds(100))) }.value
        }
    }

    mutating func reset() { next = delayMin }
}
