package struct MigrationReport: Hashable, Sendable {
    /// The migrations applied by this run, in order; empty if there was nothing to do.
    package var applied: [Migration] = []
    package var version = 0
}
