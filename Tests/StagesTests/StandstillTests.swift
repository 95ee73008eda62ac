import AppStore
import Entitlements
import Postgres
import TestSupport
import Store
import Testing
import Worker

@testable import EntitleStage
@testable import LinkStage

/// No process that stands still in the middle of its work stops the others.
@Suite(.timeLimit(.minutes(10))) struct StandstillTests {
    /// A process that has stopped in the middle of a transaction, as the server sees it.
    private static func stopped(_ client: PostgresClient, holding lock: Statement<Void, Void>) async throws
        -> PostgresConnection
    {
        let stopped = try await client.connect()
        _ = try await stopped.query("BEGIN")
        _ = try await stopped.run(lock)
        return stopped
    }

    /// Waits until a session waits for the holders of a shared lock.
    private static func waitForWaiting(_ client: PostgresClient) async throws {
        try await eventually("the exclusive one waits") {
            try await client.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                  AND state = 'active' AND (wait_event_type = 'Lock'
                    OR query LIKE '%wait_for_sharers%')
                """)[0].int8(0) > 0
        }
    }

    @Test func `records are projected while a new catalog waits for a batch that stands still`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        let stopped = try await Self.stopped(worker.client, holding: Locks.sharedCatalog)
        try await worker.apply(catalog: Array(#"{"products":{}}"#.utf8))
        let reprojection = Task { try await worker.stage.upkeep?.work() }
        try await Self.waitForWaiting(worker.client)
        let processing = Task { try await worker.process([Signed.transaction("1", signed: 1)]) }
        let isDone = Flag()
        Task {
            _ = try await processing.value
            isDone.raise()
        }
        await eventually("the record does not wait") { isDone.isRaised }
        await stopped.close()
        try await reprojection.value
        _ = try await processing.value
        await worker.stage.upkeep?.close()
    }

    @Test func `records are linked while a new link waits for a batch that stands still`() async throws {
        let worker = try await LinkWorker()
        let other = try await LinkWorker(on: worker.client)
        try await worker.settle(.purchase("1", token: LinkWorker.anna))
        let stopped = try await Self.stopped(worker.client, holding: Locks.sharedLinks)
        try await worker.link("account_token", LinkWorker.anna, "anna")
        let outbox = worker.stage.outboxes[0]
        let emptying = Task { try await outbox.empty { _ in } }
        try await Self.waitForWaiting(worker.client)
        let isDone = Flag()
        let stage = other.stage
        let records = try [Sample.purchase("2", token: LinkWorker.bob)].records(from: 0)
        let processing = Task {
            _ = try await stage.process(records)
            isDone.raise()
        }
        await eventually("the record does not wait") { isDone.isRaised }
        await stopped.close()
        try await emptying.value
        try await processing.value
        await outbox.close()
    }
}
