import Synchronization

/// The maximum of records in one transaction; unlimited until PostgreSQL is too slow or out of locks.
///
/// The limit is halved if a statement missed its deadline, a transaction took more than half of the
/// deadline, or the server had no memory for its locks. It is doubled after batches whose largest
/// transaction took less than an eighth of the deadline. Concurrent transactions can share an instance.
package final class TransactionSize: Sendable {
    private struct State {
        var limit = Int.max
        /// Number of batches that must succeed before the limit may grow again.
        var batchesUntilGrowth = 0
    }

    private let statementDeadline: Duration
    private let state = Mutex(State())

    /// The bound above which the limit becomes unlimited, because no batch has so many records.
    private static let limitMax = 1 << 20
    /// Number of batches before the limit may grow, so that a batch shrinks to its one slow record
    /// before preceding fast records raise the limit.
    private static let batchesUntilGrowth = 8

    package init(statementDeadline: Duration) { self.statementDeadline = statementDeadline }

    /// The maximum of records in the next transaction.
    package var recordsMax: Int { state.withLock { $0.limit } }

    /// Reports a committed transaction of `count` records.
    package func committed(_ count: Int, after duration: Duration) {
        guard duration > statementDeadline / 2 else { return }
        state.withLock { $0.limit = min($0.limit, max(1, count / 2)) }
    }

    /// Reports a finished batch whose largest transaction had `count` records.
    package func finished(largest count: Int, after duration: Duration) {
        state.withLock { state in
            guard state.batchesUntilGrowth == 0 else {
                state.batchesUntilGrowth -= 1
                return
            }
            guard count >= state.limit, duration < statementDeadline / 8 else { return }
            state.limit = state.limit < Self.limitMax ? state.limit * 2 : .max
        }
    }

    /// Reports that a transaction of `count` records was too large.
    package func exceeded(_ count: Int) {
        state.withLock { state in
            state.limit = min(state.limit, max(1, count / 2))
            state.batchesUntilGrowth = Self.batchesUntilGrowth
        }
    }
}
