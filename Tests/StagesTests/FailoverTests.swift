import EntitleStage
import LinkStage
import Postgres
import Synchronization
import TestSupport
import Testing
import Worker

/// The effects of links and catalogs after a failover that left the workers' sessions open.
@Suite(.timeLimit(.minutes(10))) struct FailoverTests {
    @Test func `a link that is written after a failover is applied`() async throws {
        let servers = try await FailoverServers.start()
        let client = PostgresClient(servers.options, connectionsMax: 4)
        let worker = try await LinkWorker(on: client, sweepInterval: .milliseconds(100))
        let outbox = worker.stage.outboxes[0]
        try await Self.once { try await outbox.waitForWork() }
        try await outbox.empty { _ in }
        try await servers.failOver()
        // The new primary's copy of the purchase.
        try await Self.once { try await worker.settle(.purchase("1", token: LinkWorker.anna)) }
        try await Self.once { try await worker.link("account_token", LinkWorker.anna, "anna") }
        let sent = Mutex<[String?]>([])
        try await Self.becomesTrue {
            try await outbox.waitForWork()
            try await outbox.empty { records in
                let owners = try LinkWorker.owners(records)
                sent.withLock { $0 += owners }
            }
            return sent.withLock { $0 == ["1=anna"] }
        }
        // Its gauges are read from the server that takes writes.
        try await eventually { try await servers.sessionsOfFormerPrimary() == 0 }
        await outbox.close()
        await client.close()
        try await servers.remove()
    }

    @Test func `a catalog that is applied after a failover is projected`() async throws {
        let servers = try await FailoverServers.start()
        let client = PostgresClient(servers.options, connectionsMax: 4)
        let worker = try await EntitleWorker(on: client)
        let upkeep = try #require(worker.stage.upkeep)
        try await upkeep.waitForWork()
        try await upkeep.work()
        try await servers.failOver()
        try await Self.once { try await worker.apply(catalog: Array(#"{"products":{}}"#.utf8)) }
        try await Self.becomesTrue {
            try await upkeep.waitForWork()
            try await upkeep.work()
            return try await client.query("SELECT version::int8 FROM catalog_projection")[0].int8(0) == 1
        }
        await upkeep.close()
        await client.close()
        try await servers.remove()
    }

    /// Retries as a worker does: a call fails if its session has just ended.
    private static func once(_ body: () async throws -> Void) async throws {
        try await becomesTrue {
            try await body()
            return true
        }
    }

    private static func becomesTrue(_ condition: () async throws -> Bool) async throws {
        try await eventually { do { return try await condition() } catch is PostgresError { return false } }
    }
}
