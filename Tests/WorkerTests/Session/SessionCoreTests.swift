import Testing

@testable import Worker

@Suite struct SessionCoreTests {
    /// Each world has 60 events with faults, then about 190 without, until all is committed.
    ///
    /// The faults are rebalances, failed and partial calls of the stage, held records, reloads,
    /// crashes, and acknowledgements and commits that come late or never.
    @Test func `in any order of events nothing is committed too early, twice or never`() {
        for seed in UInt64(0)..<1_000 {
            var world = SessionWorld(seed: seed)
            do { try world.run(steps: 60) } catch {
                Issue.record("seed \(seed), step \(world.steps): \(error)")
                return
            }
        }
    }
}
