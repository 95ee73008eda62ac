package import Postgres

/// Tells the records of a batch that PostgreSQL will never take from those that it takes.
package enum RecordFaults {
    /// Runs `body` on the batch, and where PostgreSQL refuses a value, on its halves.
    ///
    /// So a batch with one bad record costs twice its logarithm in further calls, and every good
    /// record is processed once, in order. A batch that needs more locks than the server has memory
    /// for is halved too. What else is wrong with the server is thrown as it is: no record is to
    /// blame for it. A statement that takes too long is thrown too, as nobody knows why it does,
    /// and halves the size of the next parts: the batch is given again, and comes to fit.
    ///
    /// - Parameters:
    ///   - size: how many records `body` is given at most; it follows from how long that took.
    ///   - body: gives one answer per record; where it throws it must have had no effect.
    ///   - refused: the answer for a record that is refused by itself.
    package static func isolating<Record, Answer>(
        _ records: ArraySlice<Record>,
        size: TransactionSize,
        _ body: (ArraySlice<Record>) async throws -> [Answer],
        refused: (Record, PostgresError) -> Answer
    ) async throws -> [Answer] {
        var answers: [Answer] = []
        answers.reserveCapacity(records.count)
        var open = [records]
        while var part = open.popLast() {
            let countMax = size.recordsMax
            if part.count > countMax {
                open.append(part.dropFirst(countMax))
                part = part.prefix(countMax)
            }
            do {
                let start = ContinuousClock.now
                answers += try await body(part)
                size.committed(part.count, after: .now - start)
            } catch let error as PostgresError where error.isTooSlow {
                size.exceeded(part.count)
                throw error
            } catch let error as PostgresError
                where error.isRecordFault || error.isOutOfLockMemory && part.count > 1
            {
                if part.count == 1 {
                    answers += part.map { refused($0, error) }
                    continue
                }
                let middle = part.startIndex + part.count / 2
                open.append(part[middle...])
                open.append(part[..<middle])
            }
        }
        return answers
    }
}

extension PostgresError {
    /// Advisory locks live in shared memory, with room for some 64 a connection
    /// (`max_locks_per_transaction`).
    fileprivate var isOutOfLockMemory: Bool {
        sqlState == SQLState("53200")
    }

    /// Why a record cannot be stored, for its dead letter: nothing of the record is in it.
    package var recordFaultDetail: String {
        let places = [("table", table), ("column", column), ("constraint", constraint)]
        let named = places.compactMap { name, place in place.map { ", \(name) \($0)" } }
        let state = sqlState?.code ?? code.rawValue
        return "PostgreSQL will never take it: SQLSTATE \(state)\(named.joined())"
    }
}
