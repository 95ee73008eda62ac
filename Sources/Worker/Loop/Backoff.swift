/// The waits between repetitions: doubling up to a bound, with jitter so that workers that failed
/// together do not come back together.
struct Backoff: Sendable {
    let delayMin: Duration
    let delayMax: Duration
    private var next: Duration

    init(delayMin: Duration, delayMax: Duration) {
        self.delayMin = delayMin
        self.delayMax = max(delayMin, delayMax)
        next = delayMin
    }

    /// Between half of the present wait and all of it; the following one is twice as long.
    mutating func nextDelay() -> Duration {
        nextDelay(jitter: Double.random(in: 0.5...1))
    }

    mutating func nextDelay(jitter: Double) -> Duration {
        let delay = next
        next = min(next * 2, delayMax)
        return delay * jitter
    }

    mutating func reset() {
        next = delayMin
    }
}
