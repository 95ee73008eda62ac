import CCalls
import EntitleStage
import Foundation
import JSON
import Kafka
import LinkStage
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import VerifyStage
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
            // IDs as long as Apple's.
            Sample.purchase(
                "\(2_000_000_000_000_000 + number)", token: LinkWorker.anna,
                account: "\(704_000_000_000_000_000 + number)")
        }.records(from: Int64(first))
    }

    /// The calls that the work makes at least: other threads of this process only ever add to them.
    private func calls(_ count: () -> Int64, _ work: (_ round: Int) async throws -> Void) async throws -> Int64 {
        var least = Int64.max
        for round in 1...3 {
            let before = count()
            try await work(round)
            least = min(least, count() - before)
        }
        return least
    }

    /// Compares what batches of new purchases cost, after one like them.
    private func expectCosts(
        _ stage: String, _ client: PostgresClient, _ process: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        let batches = try (0...7).map { try Self.purchases(from: $0 * Self.batch) }
        try await process(batches[0])
        let allocations = try await calls(calls_of_allocators) { try await process(batches[$0]) }
        let trips = try await calls(calls_of_pipeline_sync) { try await process(batches[3 + $0]) }
        let before = try await executions(client)
        try await process(batches[7])
        let statements = try await executions(client) - before
        try expect(allocations / Int64(Self.batch), "\(stage)_allocations_per_record", percent: 3)
        try expect(trips, "\(stage)_round_trips_per_batch")
        try expect(statements, "\(stage)_statements_per_batch")
    }

    /// Executions of prepared statements on the client's only connection.
    private func executions(_ client: PostgresClient) async throws -> Int64 {
        try await client.withConnection { connection in
            try await connection.query(
                """
                SELECT sum(generic_plans + custom_plans)::int8 FROM pg_prepared_statements
                WHERE statement !~ 'pg_prepared_statements'
                """)[0].int8(0)
        }
    }

    private func client() async throws -> PostgresClient {
        PostgresClient(try await StageDatabase.options(), connectionsMax: 1)
    }

    @Test func `verification allocates as often as recorded`() async throws {
        let traffic = try DemoTraffic(bodyCount: 400, now: VerifyStageTests.now)
        let records = VerifyStageTests.records(traffic)
        let stage = try VerifyStageTests.stage(for: traffic, threadsMax: 1)
        _ = try await stage.process(records)
        let allocations = try await calls(calls_of_allocators) { _ in _ = try await stage.process(records) }
        let average = allocations / Int64(records.count)
        try expect(average, "verify_allocations_per_record", percent: 3)
    }

    @Test func `deduplication costs as much as recorded`() async throws {
        let client = try await client()
        let stage = DedupeStageTests.Reader.stage(on: client)
        try await expectCosts("dedupe", client) { records in
            try await stage.acknowledged(records, try await stage.process(records))
        }
    }

    @Test func `linking costs as much as recorded`() async throws {
        let client = try await client()
        let worker = try await LinkWorker(on: client)
        try await expectCosts("link", client) { records in
            try await worker.stage.acknowledged(records, try await worker.stage.process(records))
        }
    }

    @Test func `projecting costs as much as recorded`() async throws {
        let client = try await client()
        let worker = try await EntitleWorker(on: client)
        try await expectCosts("entitle", client) { records in
            try await worker.stage.acknowledged(records, try await worker.stage.process(records))
        }
    }

    @Test func `a record is as large as recorded`() throws {
        let record = try Self.purchases(from: 0)[0]
        try expect(Int64(record.value?.count ?? 0), "verified_record_bytes", percent: 1)
    }
}
