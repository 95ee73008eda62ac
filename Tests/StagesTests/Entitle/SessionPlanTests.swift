import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import TestSupport
import Store
import Testing
import Worker

@testable import EntitleStage

/// The plans of the frequent queries of `entitle-worker`, on a server with its own defaults.
@Suite(.timeLimit(.minutes(10))) struct SessionPlanTests {
    @Test func `no statement of projecting and publishing scans a whole table`() async throws {
        let options = try await StageDatabase.options()
        let setup = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 4))
        try await setup.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        try await setup.apply(catalog: Array(#"{"products":{}}"#.utf8))
        let client = PostgresClient(options, connectionsMax: 1)
        let worker = try await EntitleWorker(on: client)
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        _ = try await worker.killedWhilePublishing()
        try await setup.endLease()
        _ = try await worker.process([
            try Signed.transaction("2", signed: 1, type: .nonRenewing),
            try Signed.renewal("1", signed: 5, graceExpires: 2_000),
        ])
        let next = try await EntitleWorker(on: client)
        _ = try await next.published()
        await next.feed.close()
        let none = PurchaseScope(environment: .production, originalTransactionID: "")
        // The upkeep's queries on a connection of its own.
        var pipeline = Pipeline()
        pipeline.add(CatalogProjection.read)
        pipeline.add(CatalogProjection.begin, 1)
        pipeline.add(CatalogProjection.reached, none)
        pipeline.add(CatalogProjection.finish)
        pipeline.add(CatalogProjection.sold, none)
        pipeline.add(CatalogTable.newestVersion)
        _ = try await client.run(pipeline)
        try await StatementPlans.expectPointLookups(client)
    }

    @Test func `a backlog of changes is published without compiling a statement`() async throws {
        // One connection, so that the last query asks the session that publishes.
        let worker = try await EntitleWorker(on: PostgresClient(try await StageDatabase.options(), connectionsMax: 1))
        _ = try await worker.client.query(
            """
            INSERT INTO changes (user_id, version, environment, bundle_id,
                original_transaction_id, entitlement_key, old_periods, new_periods, cause)
            SELECT 'user-' || n, 1, 'Production', 'com.example.app', n::text, 'pro', '{}',
                tstzmultirange(tstzrange('2026-01-01', '2026-02-01')), 'rebuild'
            FROM generate_series(1, 6000) AS n
            """)
        _ = try await worker.client.query(
            "INSERT INTO user_versions SELECT 'user-' || n, 1 FROM generate_series(1, 6000) AS n")
        let published = try await worker.published()
        #expect(published.changes.count == 6_000)
        #expect(try await worker.client.query("SHOW jit")[0].text(0) == "off")
    }
}
