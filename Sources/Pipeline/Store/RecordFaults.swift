package import Postgres

/// Separates records that PostgreSQL will never accept from the other records of a batch.
package enum RecordFaults {
    /// Runs `body` on the batch, and on its halves if PostgreSQL refuses a value.
    ///
    /// A batch of n records with one bad record costs 2 log₂ n further calls, and every good record
    /// is processed once, in order. A batch that needs more locks than the server has memory for is
    /// halved too, and so are the next ones, because other sessions need that memory. Any other
    /// server error is thrown unchanged, because no record caused it. The error of a statement beyond
    /// its deadline is thrown too, because its cause is unknown. That error halves the size of the
    /// next parts: the batch is processed again until its parts fit.
    ///
    /// A part of one record cannot be halved. If that record is too slow, or violates a constraint
    /// that `RecordConstraints` does not list, and `held` is given, only this record waits and the
    /// others continue. If a second record is too slow, the server is slow, and the error is
    /// thrown.
    ///
    /// - Parameters:
    ///   - size: the maximum of records passed to `body`; adjusted by the duration of its calls.
    ///   - body: returns one answer per record; if it throws, its effects must have been rolled back.
    ///   - refused: the answer for a record that is refused by itself.
    ///   - held: the answer for a record that has to wait; `nil` if records cannot wait.
    package static func isolating<Record, Answer>(
        _ records: ArraySlice<Record>, size: TransactionSize, _ body: (ArraySlice<Record>) async throws -> [Answer],
        refused: (Record, PostgresError) -> Answer, held: ((Record, UnstoredRecord) -> Answer)? = nil
    ) async throws -> [Answer] {
        var answers: [Answer] = []
        answers.reserveCapacity(records.count)
        var open = [records]
        var hasSlow = false
        var largest = (count: 0, duration: Duration.zero)
        while var part = open.popLast() {
            let countMax = size.recordsMax
            if part.count > countMax {
                open.append(part.dropFirst(countMax))
                part = part.prefix(countMax)
            }
            do {
                let start = ContinuousClock.now
                answers += try await body(part)
                let duration = ContinuousClock.now - start
                size.committed(part.count, after: duration)
                if part.count > largest.count { largest = (part.count, duration) }
            } catch let error as PostgresError where error.isTooSlow {
                guard part.count == 1, !hasSlow, let held else {
                    size.exceeded(part.count)
                    throw error
                }
                hasSlow = true
                answers += part.map { held($0, UnstoredRecord(error: error)) }
            } catch let error as PostgresError where error.isRecordFault || error.isOutOfLockMemory && part.count > 1 {
                if part.count == 1 {
                    if let held, error.isOfUndeclaredConstraint {
                        answers += part.map { held($0, UnstoredRecord(error: error)) }
                    } else {
                        answers += part.map { refused($0, error) }
                    }
                    continue
                }
                if error.isOutOfLockMemory { size.exceeded(part.count) }
                let middle = part.startIndex + part.count / 2
                open.append(part[middle...])
                open.append(part[..<middle])
            }
        }
        size.finished(largest: largest.count, after: largest.duration)
        return answers
    }
}

extension PostgresError {
    /// Whether the server's lock table is full; by default it has room for 64 locks per connection
    /// (`max_locks_per_transaction`).
    fileprivate var isOutOfLockMemory: Bool { sqlState == SQLState("53200") }

    /// The reason why a record cannot be stored, for its dead letter; contains nothing from the record.
    package var recordFaultDetail: String {
        let places = [("table", table), ("column", column), ("constraint", constraint)]
        let named = places.compactMap { name, place in place.map { ", \(name) \($0)" } }
        let state = sqlState?.code ?? code.rawValue
        return "PostgreSQL will never accept it: SQLSTATE \(state)\(named.joined())"
    }
}
