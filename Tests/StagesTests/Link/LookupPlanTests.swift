import AppStore
import Entitlements
import Postgres
import TestSupport
import Store
import Testing
import Worker

@testable import DedupeStage
@testable import LinkStage

/// The plans of the frequent queries of `dedupe-worker` and `link-worker`, on a server with its own
/// defaults.
@Suite(.timeLimit(.minutes(10))) struct LookupPlanTests {
    /// A client with a single connection, on which everything is prepared.
    private static func client() async throws -> PostgresClient {
        PostgresClient(try await StageDatabase.options(), connectionsMax: 1)
    }

    @Test func `no statement of linking scans a whole table`() async throws {
        let client = try await Self.client()
        let worker = try await LinkWorker(OwnershipRules(trustsIngestion: true, movesRestored: true), on: client)
        try await worker.settle([
            .purchase("1", token: LinkWorker.anna, account: "A"), .purchase("2", account: "A", claim: "anna"),
        ])
        try await worker.link("account_token", LinkWorker.anna, "anna")
        try await worker.emptyOutbox()
        // The outbox's queries on a connection of its own.
        var pipeline = Pipeline()
        pipeline.add(LinkChangeTable.oldest)
        pipeline.add(LinkChangeTable.purchases, [])
        pipeline.add(LinkChangeTable.remove, [])
        _ = try await client.run(pipeline)
        try await StatementPlans.expectPointLookups(client)
    }

    @Test func `no statement of deduplication scans a whole table`() async throws {
        let client = try await Self.client()
        let stage = DedupeStageTests.Reader.stage(on: client)
        let records = try (0..<3).map { Sample.purchase("\($0)") }.records(from: 0)
        try await stage.acknowledged(records, try await stage.process(records))
        try await StatementPlans.expectPointLookups(client)
    }
}
