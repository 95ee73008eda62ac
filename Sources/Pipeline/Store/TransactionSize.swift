import Synchronization

/// The maximum of records in one transaction: all available ones, until PostgreSQL is too slow for
/// them.
///
/// The limit is halved if a statement missed its deadline or a transaction took half of it, and
/// doubled after batches whose largest transaction took less than an eighth of it. Concurrent
/// transactions can share a value.
package final class TransactionSize: Sendable {
    private struct State {
        var limit = Int.max
        /// Batches that have to succeed before the limit may grow again.
        var batchesUntilGrowth = 0
    }

    private let statementDeadline: Duration
    private let state = Mutex(State())

    /// Acts as no limit: no batch has that many records.
    private static let limitMax = 1 << 20
    /// The number is large enough that a batch with one slow record shrinks to that record before
    /// the quick ones before it raise the limit again.
    private static let batchesUntilGrowth = 8

    package init(statementDeadline: Duration) { self.statementDeadline = statementDeadline }

    /// The maximum of records in the next transaction.
    package var recordsMax: Int { state.withLock { $0.limit } }

    /// Reports a committed transaction of so many records.
    package func committed(_ count: Int, after duration: Duration) {
        guard duration > statementDeadline / 2 else { return }
        state.withLock { $0.limit = min($0.limit, max(1, count / 2)) }
    }

    /// Reports a finished batch whose largest transaction held so many records.
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

    /// Reports that a transaction of so many records did not fit.
    package func exceeded(_ count: Int) {
        state.withLock { state in
            state.limit = min(state.limit, max(1, count / 2))
            state.batchesUntilGrowth = Self.batchesUntilGrowth
        }
    }
}
