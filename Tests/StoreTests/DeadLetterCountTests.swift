import AppStore
import Postgres
import Records
import TestSupport
import Testing

@testable import Store

/// Counts and groups of dead letters, which triggers keep.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterCountTests {
    private typealias Sample = DeadLetterSample

    private static func at(_ hours: Double) -> Timestamp {
        Timestamp(milliseconds: Sample.start + Int64(hours * Double(Sample.hour)))
    }

    @Test func `letters are counted by all that they have in common`() async throws {
        let client = try await Sample.database()
        try await Sample.index(
            (0..<6).map { number in
                var row = Sample.row(
                    number, failedAt: Self.at(Double(number)).milliseconds,
                    reason: number < 2 ? "bundle_mismatch" : "signature_invalid",
                    bundleID: number == 5 ? nil : "com.example")
                if number == 0 { row.certificates = .init() }
                return row
            }, on: client)
        let expected: [(DeadLetterGrouping, [(String?, Int64)])] = [
            (.reason, [("signature_invalid", 4), ("bundle_mismatch", 2)]),
            (.deadLetterClass, [("forged", 4), ("misrouted", 2)]), (.stage, [("verify", 6)]),
            (.bundle, [("com.example", 5), (nil, 1)]), (.certificate, [("aa11", 5), (nil, 1)]), (.state, [("open", 6)]),
            (.worker, [("verify-0", 2), ("verify-1", 2), ("verify-2", 2)]),
            (.hour, (0..<6).map { ("2026-01-01T0\($0):00:00Z", 1) }), (.day, [("2026-01-01", 6)]),
        ]
        for (grouping, counts) in expected {
            // The same from the rows, by a filter that all of them pass.
            var ofRows = DeadLetterQuery()
            ofRows.productID = "gold"
            for query in [DeadLetterQuery(), ofRows] {
                let found = try await DeadLetterCounts.counts(by: grouping, query, limit: 10, on: client)
                #expect(found == counts.map { .init(value: $0.0, letters: $0.1) }, "\(grouping)")
            }
        }
    }

    @Test(arguments: [
        (nil, nil, 100), (1.5, nil, 85), (nil, 2.05, 21), (1.5, 2.05, 6), (1.5, 1.7, 2), (1.0, 2.0, 10), (2.0, 1.0, 0),
        (0.95, 3.0, 20), (9.95, 99.0, 0),
    ]) func `a span is counted to the millisecond`(since: Double?, until: Double?, count: Int) async throws {
        let client = try await Sample.database()
        // Every six minutes, for ten hours.
        try await Sample.index(
            (0..<100).map { Sample.row($0, failedAt: Self.at(Double($0) / 10).milliseconds) }, on: client)
        var query = DeadLetterQuery()
        query.since = since.map(Self.at)
        query.until = until.map(Self.at)
        #expect(try await DeadLetterCounts.count(query, on: client) == Int64(count))
        query.productID = "gold"
        #expect(try await DeadLetterCounts.count(query, on: client) == Int64(count))
    }

    @Test func `letters that look alike are a group, with its trend`() async throws {
        let client = try await Sample.database()
        let now = Self.at(20.5)
        var rows = (0..<10).map { number in Sample.row(number, failedAt: Self.at(number < 3 ? 10 : 18).milliseconds) }
        for number in 10..<14 {
            var row = Sample.row(number, failedAt: Self.at(1).milliseconds, bundleID: nil)
            row.producer = "ingest-2"
            rows.append(row)
        }
        try await Sample.index(rows, on: client)
        let groups = try await DeadLetterGroupTable.largest(DeadLetterQuery(), now: now, limit: 5, on: client)
        #expect(groups.map(\.letters) == [10, 4])
        #expect(groups.map(\.recent) == [7, 0])
        #expect(groups.map(\.before) == [3, 0])
        #expect(groups[0].id == rows[0].groupID)
        #expect(groups[0].bundleID == "com.example")
        #expect(groups[1].producer == "ingest-2" && groups[1].bundleID == nil)
        #expect(groups[0].firstAt == Self.at(10) && groups[0].lastAt == Self.at(18))
    }

    @Test func `the counts match the rows, whatever happens to them`() async throws {
        let client = try await Sample.database()
        try await Sample.index((0..<30).map { Sample.row($0) }, on: client)
        try await Sample.index(
            (0..<10).map { Sample.row($0, offset: 100 + Int64($0), reason: "chain_invalid") }, on: client)
        _ = try await DeadLetterActionTable.decide(
            .suppressed, DeadLetterQuery(), who: try Sample.name("anna"), why: "known", deadline: .seconds(60),
            on: client)
        _ = try await client.query("DELETE FROM dead_letters WHERE id >= 'id2'")
        let differences = try await client.query(
            """
            SELECT coalesce(sum(abs(counted - known)), 0)::int8 FROM (
                SELECT hour, group_id, class, stage, worker, environment, state,
                    coalesce(letters, 0) AS known, coalesce(counted, 0) AS counted
                FROM dead_letter_hours
                FULL JOIN (
                    SELECT date_trunc('hour', failed_at, 'UTC') AS hour, group_id, class, stage,
                        worker, coalesce(environment, '') AS environment, state,
                        count(*) AS counted
                    FROM dead_letters GROUP BY 1, 2, 3, 4, 5, 6, 7
                ) AS rows USING (hour, group_id, class, stage, worker, environment, state)
            ) AS compared
            """)
        #expect(differences[0].int8(0) == 0)
        let empty = "SELECT count(*) FROM dead_letter_hours WHERE letters = 0"
        #expect(try await client.query(empty)[0].int8(0) == 0)
    }

    @Test func `an emptied table is indexed from the topic's beginning`() async throws {
        let client = try await Sample.database()
        try await Sample.index((0..<3).map { Sample.row($0) }, on: client)
        _ = try await client.query("TRUNCATE dead_letters")
        #expect(try await DeadLetterIndexTable.progress(on: client) == [])
        #expect(try await DeadLetterCounts.count(DeadLetterQuery(), on: client) == 0)
        #expect(try await Sample.index((0..<3).map { Sample.row($0) }, on: client) == 3)
    }
}
