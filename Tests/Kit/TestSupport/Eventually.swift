package import Testing

extension Duration {
    /// The deadline of a call that ends soon unless there is no hope, however busy the machine is.
    package static let hopeless = Duration.seconds(600)
}

extension Trait where Self == TimeLimitTrait {
    /// The limit of a test that runs beside all others, and waits for its turn.
    package static var hopeless: Self { .timeLimit(.minutes(60)) }
}

/// Waits until a condition holds, and records an issue at the caller's line where it does not in
/// time.
///
/// The condition is asked at once and then again and again, with a pause of `interval` in between.
///
/// - Parameter deadline: of a clock that a busy machine slows down, see `becomesTrue`. Only a
///   condition that takes minutes has one of its own.
package func eventually(
    within deadline: Duration = .seconds(60), every interval: Duration = .milliseconds(5), _ what: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async rethrows {
    guard try await !becomesTrue(within: deadline, every: interval, condition) else { return }
    Issue.record(what ?? "did not become true within \(deadline)", sourceLocation: sourceLocation)
}

/// Waits until a condition holds; false if it does not in time, or the task is cancelled.
///
/// A pause counts as `interval`, however long it lasts because other tests and programs have the
/// processor, and a question as a second at most. So a test that starves looks at its condition
/// about as often as one that is alone.
package func becomesTrue(
    within deadline: Duration, every interval: Duration = .milliseconds(5), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let clock = ContinuousClock()
    var waited = Duration.zero
    while true {
        let asked = clock.now
        if try await condition() { return true }
        guard waited < deadline, !Task.isCancelled else { return false }
        waited += interval + min(clock.now - asked, .seconds(1))
        try? await Task.sleep(for: interval)
    }
}
