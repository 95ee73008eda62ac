import AppStore
import Entitlements
import JSON
import Operations
import Postgres
import TestSupport
import Testing

/// The stored data about a user, and the rest after the user was forgotten.
@Suite(.timeLimit(.minutes(10))) struct ForgetTests {
    private static let anna = LinkWorker.anna

    /// A worker whose database the tool can reach too.
    private struct Rig {
        let worker: LinkWorker
        let url: String

        init(_ rules: OwnershipRules) async throws {
            let options = try await PostgresServer.shared.migratedDatabase()
            worker = try await LinkWorker(rules, on: PostgresClient(options, connectionsMax: 4))
            url = options.connectionString
        }

        func run(_ arguments: String..., code: Int32 = 0) async throws -> JSONValue {
            let end = await PipelineTool.run(arguments + ["--json"], on: url)
            #expect(end.code == code, "\(end.notes)")
            return try JSONDocument(parsing: Array(end.output.utf8)).root
        }

        func rows(_ user: String) async throws -> [String: Int64] {
            let report = try await run("whats-stored", user)
            var rows: [String: Int64] = [:]
            for table in try #require(report["tables"]).elements {
                let name = try #require(table["table"]?.string)
                let count = try #require(table["rows"]?.int64)
                if count > 0 { rows[name] = count }
            }
            return rows
        }
    }

    @Test func `links and claims are removed, and their purchases belong to nobody`() async throws {
        let rig = try await Rig(OwnershipRules(trustsIngestion: true))
        try await rig.worker.linkTokens()
        try await rig.worker.settle([
            .purchase("1", token: Self.anna), .purchase("2", claim: "anna"), .purchase("3", token: LinkWorker.bob),
        ])
        #expect(try await rig.rows("anna") == ["account_links": 1, "ownership_claims": 1])
        let forgotten = try await rig.run("forget", "anna", "--by", "dpo", "--reason", "request 7")
        #expect(forgotten["links"]?.int64 == 1)
        #expect(forgotten["claims"]?.int64 == 1)

        let sent = try await rig.worker.emptyOutbox()
        #expect(Set(sent) == ["1=nobody", "2=nobody"])
        #expect(try await rig.worker.owners() == ["1 nobody unlinked", "2 nobody unlinked", "3 bob account_token"])
        #expect(try await rig.rows("anna") == ["forgotten_users": 1])
        let kept = try await rig.worker.client.query("SELECT count(*) FROM ownership_facts")
        #expect(kept[0].int8(0) == 3)
        // A second time there is nothing to remove, and that is recorded too.
        let again = try await rig.run("forget", "anna", "--by", "d", "--reason", "r", code: 1)
        #expect(again["number"]?.int64 == 2)
        #expect(again["links"]?.int64 == 0)
    }

    @Test func `who came later with a purchase is forgotten too, and it stays with the first`() async throws {
        let rig = try await Rig(OwnershipRules(trustsIngestion: true, movesRestored: true))
        func posted(_ user: Identifier, _ timestamp: Int64) -> Sample {
            Sample.purchase("1", claim: user).with { $0.rawTimestamp = timestamp }
        }
        try await rig.worker.settle([posted("anna", 5_000), posted("ben", 6_000)])
        #expect(try await rig.worker.owners() == ["1 ben ingestion_claim"])
        #expect(try await rig.rows("ben") == ["ownership_restores": 1])
        let forgotten = try await rig.run("forget", "ben", "--by", "dpo", "--reason", "request 11")
        #expect(forgotten["claims"]?.int64 == 1)
        #expect(try await rig.worker.emptyOutbox() == ["1=anna"])
        #expect(try await rig.rows("ben") == ["forgotten_users": 1])
        #expect(try await rig.rows("anna") == ["ownership_claims": 1])
    }

    @Test func `if tokens are user IDs the token is removed from the facts`() async throws {
        let rig = try await Rig(OwnershipRules(tokensAreUserIDs: true))
        // Stores its rules.
        _ = try await rig.worker.emptyOutbox()
        try await rig.worker.settle([.purchase("1", token: Self.anna), .purchase("2")])
        #expect(try await rig.rows(Self.anna) == ["ownership_facts": 1])
        let forgotten = try await rig.run("forget", Self.anna, "--by", "dpo", "--reason", "request 8")
        #expect(forgotten["tokens"]?.int64 == 1)
        #expect(try await rig.worker.emptyOutbox() == ["1=nobody"])
        #expect(try await rig.rows(Self.anna) == ["forgotten_users": 1])
    }

    @Test func `a purchase that a worker is deciding about is waited for without a deadlock`() async throws {
        let rules = OwnershipRules(tokensAreUserIDs: true, trustsIngestion: true)
        let rig = try await Rig(rules)
        _ = try await rig.worker.emptyOutbox()
        try await rig.worker.settle([.purchase("1", token: Self.anna, claim: Identifier(Self.anna))])
        let (client, url) = (rig.worker.client, rig.url)
        let arguments = ["forget", Self.anna, "--by", "dpo", "--reason", "request 10"]
        let forgetting = try await client.transaction { connection in
            _ = try await connection.query("SELECT lock_ownership(ARRAY['Production'], ARRAY['1'])")
            let forgetting = Task { await PipelineTool.run(arguments, on: url) }
            await eventually {
                let waiting = try? await client.query(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """)
                return waiting?[0].int8(0) == 1
            }
            _ = try await connection.query("UPDATE ownership_claims SET raw_offset = raw_offset")
            return forgetting
        }
        #expect(await forgetting.value.code == 0)
    }

    @Test func `the requester and the reason are required, and the ID is not kept`() async throws {
        let rig = try await Rig(OwnershipRules())
        #expect(await PipelineTool.run(["forget", "anna"], on: rig.url).code == 64)
        #expect(await PipelineTool.run(["forget", "anna", "--by", "x", "--reason", ""], on: rig.url).code == 64)
        _ = try await rig.run("forget", "anna", "--by", "dpo", "--reason", "request 9", code: 1)
        let rows = try await rig.worker.client.query("SELECT row_to_json(forgotten_users)::text FROM forgotten_users")
        #expect(!rows[0].text(0).contains("anna"))
        let text = await PipelineTool.run(["whats-stored", "nobody-known"], on: rig.url)
        #expect(text.output.contains("nothing is stored about nobody-known"))
    }
}
