package import Records

/// What decides about records: all that a reload of the settings replaces, as one.
package struct Judging: Sendable {
    let stage: any Stage
    /// Makes the letters of a cluster, by the ID that its brokers give.
    let deadLetters: @Sendable (_ cluster: String) -> any DeadLetterWriting
    /// As it begins; nil for stages that need none.
    let breaker: Breaker?

    package init(
        stage: any Stage,
        deadLetters: @escaping @Sendable (_ cluster: String) -> any DeadLetterWriting,
        breaker: Breaker? = nil
    ) {
        self.stage = stage
        self.deadLetters = deadLetters
        self.breaker = breaker
    }
}
