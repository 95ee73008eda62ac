import Postgres
import Testing
import TestSupport

@testable import Store

@Suite struct RecordFaultTests {
    private static let fault = PostgresError(code: .server, message: "refused", sqlState: SQLState("22021"))

    private static func size() -> TransactionSize { TransactionSize(statementDeadline: .seconds(30)) }

    /// Refuses every batch with a number that is among the bad ones; counts the calls.
    private func isolate(_ records: [Int], bad: Set<Int>, fault: PostgresError = fault) async throws -> (
        answers: [String], calls: Int
    ) {
        var calls = 0
        let answers = try await RecordFaults.isolating(records[...], size: Self.size()) { part in
            calls += 1
            if part.contains(where: bad.contains) { throw fault }
            return part.map { "\($0)" }
        } refused: { record, error in
            "bad \(record)"
        }
        return (answers, calls)
    }

    @Test(arguments: [[], [0], [4], [9], [3, 4], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
    func `bad records are found and the others processed, in order`(bad: Set<Int>) async throws {
        let records = Array(0..<10)
        let (answers, _) = try await isolate(records, bad: bad)
        #expect(answers == records.map { bad.contains($0) ? "bad \($0)" : "\($0)" })
    }

    @Test func `one bad record among a thousand costs some twenty calls`() async throws {
        let (answers, calls) = try await isolate(Array(0..<1_024), bad: [700])
        #expect(answers.count == 1_024)
        #expect(calls == 21)
    }

    @Test(arguments: ["57P01", "42P01", "40P01", "53200"]) func `a server's error is no record's fault`(state: String)
        async throws
    {
        let fault = PostgresError(code: .server, message: "", sqlState: SQLState(state))
        await #expect(throws: fault) { try await isolate([1], bad: [1], fault: fault) }
    }

    @Test func `a batch that needs too much lock memory is halved, and the next ones are as small`() async throws {
        var sizes: [Int] = []
        let answers = try await RecordFaults.isolating(Array(0..<8)[...], size: Self.size()) { part in
            sizes.append(part.count)
            if part.count > 2 { throw PostgresError(code: .server, message: "", sqlState: SQLState("53200")) }
            return Array(part)
        } refused: { _, _ in
            -1
        }
        #expect(answers == Array(0..<8))
        #expect(sizes == [8, 4, 2, 2, 2, 2])
    }

    @Test(arguments: [
        PostgresError(code: .deadlineExceeded, message: ""),
        PostgresError(code: .server, message: "", sqlState: .queryCanceled),
    ]) func `a part that takes too long is no record's fault, and the next ones are half as large`(fault: PostgresError)
        async throws
    {
        let size = Self.size()
        var sizes: [Int] = []
        for attempt in 0..<3 {
            let answers = try? await RecordFaults.isolating(Array(0..<8)[...], size: size) { part in
                sizes.append(part.count)
                if attempt < 2 { throw fault }
                return Array(part)
            } refused: { _, _ in
                -1
            }
            #expect(answers == (attempt == 2 ? Array(0..<8) : nil))
        }
        #expect(sizes == [8, 4, 2, 2, 2, 2])
        await #expect(throws: fault) {
            try await RecordFaults.isolating([1][...], size: size) { _ in
                throw fault
            } refused: { _, _ in
                1
            }
        }
    }

    /// The answers of a batch whose bad records meet different faults.
    private func held(_ records: [Int], _ faults: [Int: PostgresError], size: TransactionSize = size()) async throws
        -> [String]
    {
        try await RecordFaults.isolating(records[...], size: size) { part in
            for record in part { if let fault = faults[record] { throw fault } }
            return part.map { "\($0)" }
        } refused: { record, _ in
            "bad \(record)"
        } held: { record, _ in
            "held \(record)"
        }
    }

    @Test func `one record that is too slow by itself waits, and the others are processed`() async throws {
        let slow = PostgresError(code: .deadlineExceeded, message: "")
        let size = Self.size()
        for position in 0..<64 {
            var answers: [String]?
            for _ in 0..<8 where answers == nil {
                answers = try? await held(Array(0..<64), [position: slow], size: size)
            }
            let expected = (0..<64).map { $0 == position ? "held \($0)" : "\($0)" }
            #expect(answers == expected)
        }
        for _ in 0..<20 {
            await #expect(throws: slow, "the server is slow") {
                try await held(Array(0..<5), [1: slow, 3: slow], size: size)
            }
        }
    }

    private static func violation(_ constraint: String?, _ state: String = "23514") -> PostgresError {
        PostgresError(code: .server, message: "", sqlState: SQLState(state), table: "ledger", constraint: constraint)
    }

    @Test func `a constraint that no migration declares for records holds a record`() async throws {
        let faults = [
            1: Self.violation("ledger_amount_check"), 2: Self.violation("of_the_company"),
            4: Self.violation(nil, "23502"), 5: Self.violation("ledger_pkey", "23505"),
        ]
        #expect(try await held(Array(0..<7), faults) == ["0", "bad 1", "held 2", "3", "held 4", "held 5", "6"])
        let unstored = UnstoredRecord(error: Self.violation("of_the_company"))
        #expect(unstored.description.contains("constraint of_the_company"))
    }

    @Test func `each declared constraint is a check of the migrated schema`() async throws {
        let client = PostgresClient(try await PostgresServer.shared.migratedDatabase())
        let rows = try await client.query(
            """
            SELECT DISTINCT conname::text FROM pg_constraint
            WHERE contype = 'c' AND connamespace = 'public'::regnamespace
            """)
        let checks = Set((0..<rows.count).map { rows[$0].text(0) })
        #expect(RecordConstraints.names.subtracting(checks).isEmpty)
    }

    @Test func `a size shrinks with slow transactions and grows with quick ones`() {
        let size = TransactionSize(statementDeadline: .seconds(8))
        #expect(size.recordsMax == .max)
        size.committed(100, after: .seconds(5))
        #expect(size.recordsMax == 50)
        size.finished(largest: 50, after: .seconds(2))
        #expect(size.recordsMax == 50)
        size.finished(largest: 20, after: .milliseconds(1))
        #expect(size.recordsMax == 50, "so few say nothing of more")
        size.finished(largest: 50, after: .milliseconds(900))
        #expect(size.recordsMax == 100)
        size.exceeded(1)
        for _ in 0..<8 {
            #expect(size.recordsMax == 1)
            size.finished(largest: 1, after: .zero)
        }
        for _ in 0..<30 { size.finished(largest: size.recordsMax, after: .zero) }
        #expect(size.recordsMax == .max)
    }
}
