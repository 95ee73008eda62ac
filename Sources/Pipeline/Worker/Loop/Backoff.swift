/// The delays between retries: they double up to a limit, with jitter, so that workers that failed together do not
/// retry together.
struct Backoff: Sendable {
    let delayMin: Duration
    let delayMax: Duration
    private var next: Duration
    /// The range of the random factor of a delay.
    static let jitterRange = 0.5...1.0

    init(delayMin: Duration, delayMax: Duration) {
        self.delayMin = delayMin
        self.delayMax = max(delayMin, delayMax)
        next = delayMin
    }

    /// Returns a random delay between half of the current delay and all of it, and doubles the delay.
    mutating func nextDelay() -> Duration { nextDelay(jitter: Double.random(in: Self.jitterRange)) }

    mutating func nextDelay(jitter: Double) -> Duration {
        let delay = next
        next = min(next * 2, delayMax)
        return delay * jitter
    }

    /// Waits for the next delay, in short steps, so that `isOver` is checked often.
    mutating func wait(unless isOver: () -> Bool) async {
        let end = ContinuousClock.now + nextDelay()
        while ContinuousClock.now < end, !isOver() {
            // A separate task sleeps, because a cancelled task does not sleep.
            await Task { try? await Task.sleep(for: min(end - .now, .milliseconds(100))) }.value
        }
    }

    mutating func reset() { next = delayMin }
}
