import AppStore
import EntitleStage
import Entitlements
import LinkStage
import Operations
import Postgres
import TestSupport
import Testing
import Worker

/// `pipeline rebuild` compares owners, and not only their entitlements.
@Suite(.timeLimit(.minutes(10))) struct RebuildOwnerTests {
    /// Both workers on one database, and the tool beside them.
    private struct Rig {
        let client: PostgresClient
        let link: LinkWorker
        let entitle: EntitleWorker
        private let url: String

        init(_ rules: OwnershipRules = OwnershipRules()) async throws {
            let options = try await PostgresServer.shared.migratedDatabase()
            client = PostgresClient(options, connectionsMax: 8)
            url = options.connectionString
            link = try await LinkWorker(rules, on: client)
            entitle = try await EntitleWorker(on: client)
            try await start(link)
        }

        /// Waits for work first, as the loop of a worker does.
        func start(_ worker: LinkWorker) async throws { try await worker.stage.outboxes[0].waitForWork() }

        /// Settles two purchases in both stages: the first passes from anna to bob.
        func settle() async throws {
            try await link.linkTokens()
            let samples: [Sample] = [
                .purchase("1", "1", at: 1_000, token: LinkWorker.anna, until: 9_000),
                .purchase("1", "1-2", at: 2_000, token: LinkWorker.bob, until: 9_000),
                .purchase("7", token: LinkWorker.anna, until: 9_000),
            ]
            try await link.settle(samples)
            _ = try await entitle.stage.process(try samples.records(from: 0))
        }

        func rebuild(_ options: String...) async -> (code: Int32, output: String) {
            let end = await PipelineTool.run(PipelineTool.comparing(options), on: url)
            return (end.code, end.output)
        }

        func held() async throws -> [String] {
            try await client.query(
                """
                SELECT original_transaction_id || ' ' || user_id FROM entitlements
                ORDER BY 1
                """
            ).map { $0.text(0) }
        }
    }

    @Test func `owners that follow from the facts are no difference`() async throws {
        let rig = try await Rig()
        try await rig.settle()
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
        #expect(output.contains("2 purchases compared: every row follows from the facts"))
    }

    @Test func `a wrong owner is found, with the purchase's entitlements`() async throws {
        let rig = try await Rig()
        try await rig.settle()
        let before = try await rig.held()
        _ = try await rig.client.query("UPDATE owners SET user_id = 'mallory' WHERE original_transaction_id = '7'")
        _ = try await rig.client.query(
            "UPDATE entitlements SET user_id = 'mallory' WHERE original_transaction_id = '7'")
        let (code, output) = await rig.rebuild()
        #expect(code == 1)
        #expect(output.contains("7 owner: is mallory by account_token, directly anna, should be anna by"), "\(output)")
        #expect(output.contains("7 mallory entitlement"), "\(output)")
        #expect(try await rig.held() != before)
        #expect(await rig.rebuild("--replace").code == 1)
        #expect(try await rig.held() == before)
        #expect(await rig.rebuild().code == 0)
    }

    @Test func `missing ownership facts are found in the transactions`() async throws {
        let rig = try await Rig()
        try await rig.settle()
        let before = try await rig.held()
        _ = try await rig.client.query("DELETE FROM ownership_facts")
        _ = try await rig.client.query("DELETE FROM owners")
        #expect(await rig.rebuild("--replace").code == 1)
        #expect(try await rig.held() == before)
        let (code, output) = await rig.rebuild()
        #expect(code == 0, "\(output)")
    }

    @Test func `changed rules show by owners that do not follow from them`() async throws {
        let rig = try await Rig()
        try await rig.settle()
        let next = try await LinkWorker(OwnershipRules(policy: .keep), on: rig.client)
        try await rig.start(next)
        let (code, output) = await rig.rebuild()
        #expect(code == 1)
        #expect(output.contains("1 owner: is bob by account_token"), "\(output)")
        #expect(await rig.rebuild("--replace").code == 1)
        #expect(try await rig.held() == ["1 anna", "7 anna"])
        // Replaced owners were projected with it: the workers have nothing left to do.
        #expect(try await next.emptyOutbox().isEmpty)
        #expect(try await rig.entitle.count("owner_changes") == 0)
        #expect(await rig.rebuild().code == 0)
    }
}
