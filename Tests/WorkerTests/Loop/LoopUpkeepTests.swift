import Kafka
import Synchronization
import TestSupport
import Testing
import Worker

/// The work of a worker without a record.
@Suite(.timeLimit(.minutes(10))) struct LoopUpkeepTests {
    /// Counts its occasions, the first of which fails.
    private final class CountingUpkeep: Upkeep {
        private let state = Mutex((works: 0, isClosed: false))

        struct Fault: Error {}

        var works: Int { state.withLock(\.works) }
        var isClosed: Bool { state.withLock(\.isClosed) }

        func waitForWork() async throws { await Task.yield() }

        func work() async throws {
            let works = state.withLock { state in
                state.works += 1
                return state.works
            }
            if works == 1 { throw Fault() }
        }

        func close() async { state.withLock { $0.isClosed = true } }
    }

    private struct KeptStage: Stage {
        let upkeep: (any Upkeep)?

        func process(_ records: [ConsumerRecord]) async throws -> [Verdict] { records.map { _ in Verdict(.ignored) } }
    }

    @Test func `it has occasions while no record comes, after a fault too, and is closed`() async throws {
        let upkeep = CountingUpkeep()
        let rig = try await LoopRig()
        let worker = try rig.worker(KeptStage(upkeep: upkeep))
        worker.start()
        await eventually("there are occasions") { upkeep.works > 3 }
        #expect(!upkeep.isClosed)
        try await worker.stop()
        #expect(upkeep.isClosed)
    }
}
