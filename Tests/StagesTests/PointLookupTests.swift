import AppStore
import Kafka
import Postgres
import TestSupport
import Testing
import Worker

@testable import DedupeStage

/// What a record costs must not grow with what is stored.
@Suite(.timeLimit(.minutes(10))) struct PointLookupTests {
    @Test func `tables that were nearly empty are not read whole once they are not`() async throws {
        let client = try await StageDatabase.make()
        let link = try await LinkWorker(on: client)
        let dedupe = DedupeStageTests.Reader.stage(on: client)
        let samples = (0..<20).map { number in
            Sample.purchase("\(number)", token: LinkWorker.anna, account: "A\(number)", claim: "u")
                .with { $0.renewalInfo = Sample.renewal("\(number)").renewalInfo }
        }
        // The plan is made for good once the same statement has run some times, with statistics
        // that say that there is next to nothing.
        for round in 0..<10 {
            try await link.settle(samples)
            let records = try samples.records(from: Int64(round * 100))
            try await dedupe.acknowledged(records, try await dedupe.process(records))
            _ = try await client.query("ANALYZE")
        }
        let before = try await rowsReadWhole(client)
        for round in 10..<13 {
            try await link.settle(samples)
            let records = try samples.records(from: Int64(round * 100))
            try await dedupe.acknowledged(records, try await dedupe.process(records))
        }
        #expect(try await rowsReadWhole(client) == before)
    }

    /// Rows that scans of whole tables have read, by table, as far as the stages know the tables.
    private func rowsReadWhole(_ client: PostgresClient) async throws -> [String] {
        _ = try await client.query("SELECT pg_stat_force_next_flush()")
        return try await client.query(
            """
            SELECT relname || ' ' || seq_tup_read FROM pg_stat_user_tables
            WHERE relname ~ '^(dedupe|owner|account_links$)' ORDER BY 1
            """
        )
        .map { $0.text(0) }
    }
}
