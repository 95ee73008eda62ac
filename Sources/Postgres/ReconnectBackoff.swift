/// When to try the next connection after one that failed: twice as long each time, up to a bound,
/// and at random within the upper half, so that many workers do not come back at the same instant.
struct ReconnectBackoff {
    static let delayMin = Duration.milliseconds(100)
    static let delayMax = Duration.seconds(10)
    private static let doublingsMax = 7

    private var failures = 0
    private(set) var notBefore = ContinuousClock.now

    mutating func recordSuccess() {
        failures = 0
        notBefore = .now
    }

    mutating func recordFailure(at time: ContinuousClock.Instant, jitter: Double) {
        notBefore = time + Self.delay(afterFailures: failures, jitter: jitter)
        failures = min(failures + 1, Self.doublingsMax)
    }

    /// - Parameter jitter: between 0 and 1.
    static func delay(afterFailures failures: Int, jitter: Double) -> Duration {
        let full = min(delayMax, delayMin * (1 << failures))
        return full / 2 + full / 2 * jitter
    }
}
