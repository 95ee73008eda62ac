import AppStore
import Entitlements
import JSON
import Operations
import Postgres
import Simulation
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// A worker that sets tokens, beside a link-worker on its database.
final class TokenRig {
    let recovery: RecoveryRig
    let link: LinkWorker
    private(set) var worker: RecoveryStage

    init(_ apps: [DemoApp] = [.pro], rules: OwnershipRules = OwnershipRules()) async throws {
        recovery = try await RecoveryRig(apps, setsAccountTokens: true)
        link = try await LinkWorker(rules, on: recovery.client)
        worker = try recovery.worker()
        // Stores its rules.
        _ = try await link.emptyOutbox()
    }

    var world: AppleWorld { recovery.world }

    /// Sells purchases and lets link-worker settle their samples.
    func sell(_ samples: Sample...) async throws {
        for sample in samples { if let id = sample.transaction?.originalTransactionID { try world.sell(id) } }
        try await link.settle(samples)
    }

    /// Lets the worker look for purchases, pass a day, and do what is due.
    func passDay() async throws {
        try await recovery.wake(tokensToo: false)
        try await turn()
        _ = try await recovery.client.query("UPDATE recovery_requests SET due_at = due_at - interval '1 day'")
        try await turn()
    }

    func turn() async throws { try await recovery.turn(worker) }

    /// Starts another process of the worker.
    func restart() async throws {
        await worker.outboxes[0].close()
        worker = try recovery.worker()
    }

    func run(_ sql: String) async throws { _ = try await recovery.client.query(sql) }

    /// The requests, as `id user result` by ID.
    func requests() async throws -> [String] {
        try await recovery.client.query(
            """
            SELECT subject || ' ' || user_id || ' ' || coalesce(result, 'waiting') FROM recovery_requests
            WHERE kind = 'account_token' ORDER BY subject, bundle_id
            """
        ).map { $0.text(0) }
    }

    /// The tokens of a user's links.
    func tokens(of user: String) async throws -> [String] {
        try await recovery.client.query(
            "SELECT key FROM account_links WHERE kind = 'account_token' AND user_id = $1 ORDER BY key", [.text(user)]
        ).map { $0.text(0) }
    }

    /// The result of the first purchase that `pipeline explain` shows.
    func explained(_ id: String) async throws -> String? {
        let end = await PipelineTool.run(["explain", "--transaction", id, "--json"], on: recovery.url)
        #expect(end.code == 0, "\(end.notes)")
        let purchases = try JSONDocument(parsing: Array(end.output.utf8)).root["purchases"]
        return purchases?.elements.first { _ in true }?["apple_account_token"]?["result"]?.string
    }
}
