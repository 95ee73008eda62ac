package struct MigrationReport: Hashable, Sendable {
    /// The migrations that this run has applied, in order.
    package var applied: [Migration] = []
    package var version = 0
}
