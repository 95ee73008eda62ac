import Postgres
import Testing

@testable import Database

@Suite struct RecordFaultTests {
    private static let fault = PostgresError(
        code: .server,
        message: "refused",
        sqlState: SQLState("22021")
    )

    /// Refuses every batch with a number that is among the bad ones; counts the calls.
    private func isolate(
        _ records: [Int],
        bad: Set<Int>,
        fault: PostgresError = fault
    ) async throws -> (answers: [String], calls: Int) {
        var calls = 0
        let answers = try await RecordFaults.isolating(records[...]) { part in
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

    @Test(arguments: ["57P01", "42P01", "40P01", "53200"])
    func `what is wrong with the server is no record's fault`(state: String) async throws {
        let fault = PostgresError(code: .server, message: "", sqlState: SQLState(state))
        await #expect(throws: fault) { try await isolate([1], bad: [1], fault: fault) }
    }

    @Test func `a batch that needs more locks than there is memory for is halved`() async throws {
        var sizes: [Int] = []
        let answers = try await RecordFaults.isolating(Array(0..<8)[...]) { part in
            sizes.append(part.count)
            if part.count > 2 {
                throw PostgresError(code: .server, message: "", sqlState: SQLState("53200"))
            }
            return Array(part)
        } refused: { _, _ in
            -1
        }
        #expect(answers == Array(0..<8))
        #expect(sizes == [8, 4, 2, 2, 4, 2, 2])
    }
}
