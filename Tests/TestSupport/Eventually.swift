package import Testing

/// Waits until a condition holds, and records an issue at the caller's line where it does not in
/// time.
///
/// The condition is asked at once and then every few milliseconds.
package func eventually(
    within deadline: Duration = .seconds(10),
    _ what: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    let clock = ContinuousClock()
    let end = clock.now + deadline
    while true {
        if try await condition() { return }
        guard clock.now < end else { break }
        try? await Task.sleep(for: .milliseconds(5))
    }
    Issue.record(what ?? "did not become true within \(deadline)", sourceLocation: sourceLocation)
}
