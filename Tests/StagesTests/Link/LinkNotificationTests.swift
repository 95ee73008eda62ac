import Kafka
import Postgres
import Synchronization
import TestSupport
import Testing
import Worker

@testable import LinkStage

/// Notifications of links that are written while no record arrives.
@Suite(.timeLimit(.minutes(10))) struct LinkNotificationTests {
    private static let never = Duration.seconds(24 * 3_600)

    /// Gives an outbox its occasions as the worker does, until the body has ended.
    ///
    /// - Parameter body: receives what has been written so far.
    private static func running(_ worker: LinkWorker, _ body: (@escaping @Sendable () -> [String]) async throws -> Void)
        async throws
    {
        let sent = Mutex<[String]>([])
        let outbox = worker.stage.outboxes[0]
        let running = Task {
            while !Task.isCancelled {
                try await outbox.waitForWork()
                try await outbox.empty { records in
                    let names = try LinkWorker.owners(records).compactMap(\.self)
                    sent.withLock { $0 += names }
                }
            }
        }
        do { try await body { sent.withLock { $0 } } } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        await outbox.close()
        _ = await running.result
    }

    @Test func `without any sweep the notification alone applies each link`() async throws {
        let worker = try await LinkWorker(sweepInterval: Self.never)
        try await worker.settle((1...5).map { .purchase("\($0)", account: "A\($0)") })
        try await Self.running(worker) { sent in
            for number in 1...5 {
                // The outbox sleeps for a day, unless it is woken.
                try await worker.link("app_transaction_id", "A\(number)", "user\(number)")
                await eventually { sent().contains("\(number)=user\(number)") }
            }
            #expect(sent() == (1...5).map { "\($0)=user\($0)" })
        }
    }

    @Test func `the next sweep makes up for a lost notification`() async throws {
        let worker = try await LinkWorker(sweepInterval: .milliseconds(500))
        try await worker.settle([.purchase("1", token: LinkWorker.anna)])
        try await Self.running(worker) { sent in
            try await Self.writeUnheard(worker)
            await eventually { sent() == ["1=anna"] }
        }
    }

    /// Writes a link and its change without a notification.
    private static func writeUnheard(_ worker: LinkWorker) async throws {
        try await worker.client.transaction { connection in
            _ = try await connection.query("SET LOCAL session_replication_role = replica")
            _ = try await connection.query(
                """
                INSERT INTO account_links (kind, key, user_id)
                VALUES ('account_token', $1, 'anna')
                """, [.text(LinkWorker.anna)])
            _ = try await connection.query(
                """
                INSERT INTO account_link_changes (kind, environment, bundle_id, key)
                VALUES ('account_token', '', '', $1)
                """, [.text(LinkWorker.anna)])
        }
    }

    @Test func `a listener that lost its connection finds what it missed`() async throws {
        let worker = try await LinkWorker(sweepInterval: Self.never)
        try await worker.settle([.purchase("1", token: LinkWorker.anna)])
        let outbox = worker.stage.outboxes[0]
        try await outbox.waitForWork()
        try await outbox.empty { _ in }
        _ = try await worker.client.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND query ~* 'account_link|advisory|listen'
            """)
        try await worker.link("account_token", LinkWorker.anna, "anna")
        // The loop comes again after a fault, whichever call met it.
        await eventually {
            do {
                try await outbox.waitForWork()
                return try await worker.emptyOutbox() == ["1=anna"]
            } catch { return false }
        }
        await outbox.close()
    }
}
