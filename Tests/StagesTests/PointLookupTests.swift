import AppStore
import Kafka
import Postgres
import TestSupport
import Testing
import Worker

@testable import DedupeStage

/// The cost of a record must not grow with the stored rows.
@Suite(.timeLimit(.minutes(10))) struct PointLookupTests {
    @Test func `tables that were nearly empty are not scanned whole later`() async throws {
        let client = try await StageDatabase.make()
        let link = try await LinkWorker(on: client)
        let dedupe = DedupeStageTests.Reader.stage(on: client)
        let samples = (0..<20).map { number in
            Sample.purchase("\(number)", token: LinkWorker.anna, account: "A\(number)", claim: "u").with {
                $0.renewalInfo = Sample.renewal("\(number)").renewalInfo
            }
        }
        // The plan is final once a statement has run some times, with statistics of nearly empty
        // tables.
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

    /// Rows read by scans of whole tables, by table, as far as the stages know the tables.
    private func rowsReadWhole(_ client: PostgresClient) async throws -> [String] {
        _ = try await client.query("SELECT pg_stat_force_next_flush()")
        return try await client.query(
            """
            SELECT relname || ' ' || seq_tup_read FROM pg_stat_user_tables
            WHERE relname ~ '^(dedupe|owner|account_links$)' ORDER BY 1
            """
        ).map { $0.text(0) }
    }
}
