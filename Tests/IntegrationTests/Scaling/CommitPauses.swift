import Operations
import Records
import Synchronization
import TestSupport
import Worker

/// The times for which partitions with waiting records have committed nothing.
final class CommitPauses: Sendable {
    private struct Key: Hashable {
        let stage: StageDescription
        let partition: Int32
    }

    private struct State {
        var settled: [Key: Int64] = [:]
        var moved: [Key: ContinuousClock.Instant] = [:]
        var longest: [StageDescription: Duration] = [:]
    }

    private let state = Mutex(State())

    /// Waits until no partition pauses, so that each pause counts with its beginning.
    ///
    /// - Returns: the longest pause of a partition of each stage, since the last call.
    func take() async throws -> [StageDescription: Duration] {
        let isOver = await becomesTrue(within: .seconds(60), every: .milliseconds(100)) {
            let now = ContinuousClock.now
            return state.withLock { $0.moved.values.allSatisfy { now - $0 < .seconds(1) } }
        }
        guard isOver else { throw PipelineFailure("partitions with records commit nothing") }
        return state.withLock { state in
            defer { state.longest = [:] }
            return state.longest
        }
    }

    /// Watches all partitions; while no broker answers, a pause continues.
    func watch(_ pipeline: RunningPipeline, until isOver: () -> Bool) async {
        _ = await becomesTrue(within: .seconds(900), every: .milliseconds(100)) {
            guard let accounts = try? await pipeline.workerAccounts() else { return isOver() }
            let now = ContinuousClock.now
            state.withLock { state in
                for account in accounts {
                    for partition in account.partitions {
                        let key = Key(stage: account.stage, partition: partition.partition)
                        Self.add(key, partition, at: now, to: &state)
                    }
                }
            }
            return isOver()
        }
    }

    private static func add(
        _ key: Key, _ partition: PartitionAccount, at now: ContinuousClock.Instant, to state: inout State
    ) {
        let committed = partition.committed ?? 0
        let hasMoved = state.settled[key] != committed
        if let since = state.moved[key] {
            let pause = now - since
            state.longest[key.stage] = max(state.longest[key.stage] ?? .zero, pause)
        }
        state.settled[key] = committed
        if partition.lag == 0 {
            // Nothing waits: a pause begins with the next record.
            state.moved[key] = nil
        } else if hasMoved || state.moved[key] == nil {
            state.moved[key] = now
        }
    }
}
