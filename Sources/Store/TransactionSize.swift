import Synchronization

/// How many records go into one transaction: all that there are, until PostgreSQL needs too long
/// for them.
///
/// Halved where a statement missed its deadline or a transaction took half of it, doubled where one
/// was done in an eighth of it. Safe to share between transactions that run at once.
package final class TransactionSize: Sendable {
    private let statementDeadline: Duration
    private let limit = Mutex(Int.max)

    /// So large a limit is none: no batch has that many records.
    private static let limitMax = 1 << 20

    package init(statementDeadline: Duration) {
        self.statementDeadline = statementDeadline
    }

    /// How many records the next transaction takes at most.
    package var recordsMax: Int { limit.withLock { $0 } }

    /// A transaction of so many records is committed.
    package func committed(_ count: Int, after duration: Duration) {
        limit.withLock { limit in
            if duration > statementDeadline / 2 {
                limit = min(limit, max(1, count / 2))
            } else if count >= limit, duration < statementDeadline / 8 {
                limit = limit < Self.limitMax ? limit * 2 : .max
            }
        }
    }

    /// A transaction of so many records did not fit.
    package func exceeded(_ count: Int) {
        limit.withLock { $0 = min($0, max(1, count / 2)) }
    }
}
