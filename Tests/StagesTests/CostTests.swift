import EntitleStage
import Foundation
import JSON
import Kafka
import LinkStage
import Postgres
import Records
import TestSupport
import Testing
import Worker

@testable import DedupeStage

/// Costs that are the same on every machine, compared with `deploy/measured/costs.json`.
///
/// A change that makes one of them better or worse changes the file too.
@Suite(.timeLimit(.minutes(10))) struct CostTests {
    private static let batch = 100

    private static let recorded = Result {
        let file = ReferenceScript.root.appending(path: "deploy/measured/costs.json")
        return try JSONDocument(parsing: Array(try Data(contentsOf: file))).root
    }

    private func expect(_ value: Int64, _ name: String, percent tolerance: Int64 = 0) throws {
        let recorded = try #require(try Self.recorded.get()[name]?.int64, "\(name): \(value)")
        let isAlike = abs(value - recorded) * 100 <= recorded * tolerance
        #expect(isAlike, "\(name): \(recorded) in deploy/measured/costs.json, \(value) measured")
    }

    private static func purchases(from first: Int) throws -> [ConsumerRecord] {
        try (first..<first + batch).map { number in
            Sample.purchase("\(number)", token: LinkWorker.anna, account: "A\(number)")
        }
        .records(from: Int64(first))
    }

    /// The statements that a batch of new purchases runs, after one like it.
    private func statements(
        _ client: PostgresClient,
        _ process: ([ConsumerRecord]) async throws -> Void
    ) async throws -> Int64 {
        try await process(Self.purchases(from: 0))
        let before = try await executions(client)
        try await process(Self.purchases(from: Self.batch))
        return try await executions(client) - before
    }

    /// Executions of prepared statements on the client's only connection.
    private func executions(_ client: PostgresClient) async throws -> Int64 {
        try await client.withConnection { connection in
            try await connection.query(
                """
                SELECT sum(generic_plans + custom_plans)::int8 FROM pg_prepared_statements
                WHERE statement !~ 'pg_prepared_statements'
                """
            )[0].int8(0)
        }
    }

    private func client() async throws -> PostgresClient {
        PostgresClient(try await StageDatabase.options(), connectionsMax: 1)
    }

    @Test func `deduplication runs as many statements a batch as recorded`() async throws {
        let client = try await client()
        let stage = DedupeStageTests.Reader.stage(on: client)
        let count = try await statements(client) { records in
            try await stage.acknowledged(records, try await stage.process(records))
        }
        try expect(count, "dedupe_statements_per_batch")
    }

    @Test func `linking runs as many statements a batch as recorded`() async throws {
        let client = try await client()
        let worker = try await LinkWorker(on: client)
        let count = try await statements(client) { records in
            try await worker.stage.acknowledged(records, try await worker.stage.process(records))
        }
        try expect(count, "link_statements_per_batch")
    }

    @Test func `projecting runs as many statements a batch as recorded`() async throws {
        let client = try await client()
        let worker = try await EntitleWorker(on: client)
        let count = try await statements(client) { records in
            try await worker.stage.acknowledged(records, try await worker.stage.process(records))
        }
        try expect(count, "entitle_statements_per_batch")
    }

    @Test func `a record is as large as recorded`() throws {
        let record = try Self.purchases(from: 0)[0]
        try expect(Int64(record.value?.count ?? 0), "verified_record_bytes", percent: 1)
    }
}
