import AppStore
import Entitlements
import LinkStage
import Postgres
import Store
import Telemetry
import TestSupport
import Testing
import Worker

/// Users named by the ingestion service beside a transaction that came with another user before.
@Suite(.timeLimit(.minutes(10))) struct RestoredPurchaseTests {
    /// Scenarios of users named by the ingestion service, without links.
    private static let names = Scenario.names.filter { name in
        guard let scenario = try? Scenario.load(name) else { return false }
        return scenario.rules.trustsIngestion && scenario.links == AccountLinks()
    }

    private static func posted(_ user: Identifier, _ timestamp: Int64) -> Sample {
        Sample.purchase("1", claim: user).with { $0.rawTimestamp = timestamp }
    }

    /// Both tables, each row as `user timestamp`.
    private static func claims(_ client: PostgresClient) async throws -> [[String]] {
        var tables: [[String]] = []
        for table in ["ownership_claims", "ownership_restores"] {
            let rows = try await client.query(
                "SELECT user_id || ' ' || raw_timestamp_ms FROM \(table) ORDER BY raw_timestamp_ms")
            tables.append(rows.map { $0.text(0) })
        }
        return tables
    }

    @Test(arguments: Self.names) func `a scenario of named users ends as its file says, in any order and doubled`(
        name: String
    ) async throws {
        let scenario = try Scenario.load(name)
        let rig = try await RebuildRig(scenario.rules)
        try await rig.entitle.apply(catalog: scenario.catalogJSON)
        var facts = FactSet()
        for observation in scenario.observations { facts.add(observation) }
        var rest = (scenario.observations + scenario.observations).shuffled()[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Int.random(in: 1...3)))
            rest = rest.dropFirst(batch.count)
            try await rig.settle(observations: batch)
        }
        let fold = EntitlementFold(facts, links: scenario.links, rules: scenario.rules, catalog: scenario.catalog)
        #expect(try await rig.entitle.rows() == fold.rows)
    }

    @Test func `the rows are those of the earliest users, in any order and number`() async throws {
        let users = (0..<20).map { "user-\($0)" }
        let samples = users.enumerated().flatMap { index, user in
            [10_000, 20_000].map { Self.posted(Identifier(user), Int64($0 + index)) }
        }
        for _ in 0..<6 {
            let worker = try await LinkWorker(OwnershipRules(trustsIngestion: true, movesRestored: true))
            var rest = (samples + samples).shuffled()[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...5)
                try await worker.settle(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let rows = users.enumerated().map { "\($1) \(10_000 + $0)" }
            let kept = 1...OwnershipFactTables.restoresMax
            #expect(try await Self.claims(worker.client) == [[rows[0]], Array(rows[kept])])
            #expect(try await worker.owners() == ["1 \(users[kept.upperBound]) ingestion_claim"])
            let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
            #expect(text.contains("link_contradicting_ingest_users_total 0\n"))
            #expect(!text.contains("link_left_out_ingest_users_total 0\n"))
            #expect(worker.log.messages.contains { $0.contains("the latest are left out") })
        }
    }

    @Test func `the setting counts for stored purchases once it is applied again, in both directions`() async throws {
        let worker = try await LinkWorker(OwnershipRules(trustsIngestion: true))
        try await worker.settle([Self.posted("anna", 5_000), Self.posted("ben", 6_000)])
        #expect(try await worker.owners() == ["1 anna ingestion_claim"])
        #expect(try await Self.claims(worker.client) == [["anna 5000"], ["ben 6000"]])
        let moving = try await LinkWorker(OwnershipRules(trustsIngestion: true, movesRestored: true), on: worker.client)
        for (next, owner) in [(moving, "ben"), (worker, "anna")] {
            #expect(try await next.emptyOutbox().isEmpty)
            #expect(try await worker.client.query("SELECT reapply_ownership_rules()")[0].int8(0) == 1)
            #expect(try await next.emptyOutbox() == ["1=\(owner)"])
        }
    }

    @Test func `the stored rules, by which tools find owners, include the setting`() async throws {
        let worker = try await LinkWorker()
        for movesRestored in [true, false] {
            let rules = OwnershipRules(trustsIngestion: true, movesRestored: movesRestored)
            _ = try await worker.client.run(LinkingRulesTable.write, rules)
            #expect(try await worker.client.run(LinkingRulesTable.read).first == rules)
        }
    }
}
