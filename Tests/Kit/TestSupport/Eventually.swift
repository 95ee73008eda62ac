package import Testing

/// Waits until a condition holds, and records an issue at the caller's line where it does not in
/// time.
///
/// The condition is asked at once and then again and again, with a pause of `interval` in between.
package func eventually(
    within deadline: Duration = .seconds(60),
    every interval: Duration = .milliseconds(5),
    _ what: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    guard try await !becomesTrue(within: deadline, every: interval, condition) else { return }
    Issue.record(what ?? "did not become true within \(deadline)", sourceLocation: sourceLocation)
}

/// Waits until a condition holds; false if it does not in time, or the task is cancelled.
package func becomesTrue(
    within deadline: Duration,
    every interval: Duration = .milliseconds(5),
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + deadline
    while true {
        if try await condition() { return true }
        guard clock.now < end, !Task.isCancelled else { return false }
        try? await Task.sleep(for: interval)
    }
}
