/// What a run of the migrations did.
package struct MigrationReport: Hashable, Sendable {
    /// Those applied by this run, in order; empty where nothing was to be done.
    package var applied: [Migration] = []
    /// The version that the database has now.
    package var version = 0
}
