import AppStore
import EntitleStage
import Entitlements
import Foundation
import Kafka
import LinkStage
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Worker

@testable import Operations

/// `pipeline plan --facts` finds nothing if nothing is wrong.
@Suite(.timeLimit(.minutes(10))) struct RebuildScenarioTests {
    @Test(arguments: Scenario.names) func `after any scenario, in any order and doubled, each fact is what was signed`(
        name: String
    ) async throws {
        let scenario = try Scenario.load(name)
        let rig = try await RebuildRig(scenario.rules)
        try await rig.entitle.apply(catalog: scenario.catalogJSON)
        var rest = (scenario.observations + scenario.observations).shuffled()[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Int.random(in: 1...4)))
            rest = rest.dropFirst(batch.count)
            try await rig.settle(observations: batch)
        }
        let found = try await rig.findings()
        #expect(found.isEmpty, "\(found.map(\.line))")
        // All missing rows are back; transactions too, because ownership facts name the trust.
        let before = try await rig.picture(of: "transactions")
        try await rig.query("DELETE FROM transactions")
        _ = await rig.rebuild("--replace")
        #expect(try await rig.picture(of: "transactions") == before)
    }

    @Test func `an operator has exactly the rights that a rebuild needs`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", token: LinkWorker.anna, account: RebuildRig.account, until: 9_000),
            .renewal("1") { $0.gracePeriodExpiresDate = 12_000 }, Sample(appTransaction: AppTransactionFields()),
        ])
        let before = try await rig.picture()
        for damage in [
            "UPDATE transactions SET expires_date_ms = 1", "UPDATE renewals SET renewal_date_ms = 1",
            "UPDATE app_downloads SET application_version = '0'", "UPDATE ownership_facts SET expires_date_ms = 1",
            "DELETE FROM ownership_renewals", "DELETE FROM renewal_spans",
            "INSERT INTO renewal_spans VALUES ('Production', '1', 'apple', 99000, NULL)",
            "INSERT INTO forgotten_users (user_sha256, forgotten_by, reason, links, claims, tokens)"
                + " VALUES (sha256('x'), 'dpo', 'asked', 0, 0, 0)", "UPDATE ownership_facts SET account_token = NULL",
        ] { try await rig.query(damage) }
        // Roles belong to the whole server.
        let prefix = "r\(UUID().uuidString.prefix(8).lowercased())-"
        let role = prefix + DatabaseRole.operations.name
        let owner = try await rig.client.connect()
        try await owner.execute(
            script: DatabaseRole.script([.operations], schema: "public", prefix: prefix)
                + "ALTER ROLE \"\(role)\" PASSWORD '\(role)';")
        await owner.close()
        let url = rig.options.connectionString.replacing(/\/\/[^@]+@/, with: "//\(role):\(role)@")
        #expect(url.contains(role))
        let replaced = await PipelineTool.run(["rebuild", "--replace"], on: url)
        #expect(replaced.code == 1, "\(replaced)")
        #expect(try await rig.picture() == before, "\(replaced)")
        let (code, output, notes) = await PipelineTool.run(["plan", "--facts"], on: url)
        #expect(code == 0, "\(output)\(notes)")
    }

    @Test func `no statement of a rebuild scans a whole table`() async throws {
        let rig = try await RebuildRig()
        try await rig.settle([
            .purchase("1", token: LinkWorker.anna, account: RebuildRig.account, until: 9_000),
            .purchase("2", until: 9_000).with {
                $0.method = .receipt
                $0.transaction?.revocationDate = 5_000
            }, .renewal("1") { $0.gracePeriodExpiresDate = 12_000 },
        ])
        try await rig.query("UPDATE transactions SET account_token = NULL")
        try await rig.query("DELETE FROM renewal_spans")
        try await rig.query("INSERT INTO renewal_spans VALUES ('Production', '1', 'apple', 99000, NULL)")
        // One connection, so that everything is prepared on it.
        let client = PostgresClient(rig.options, connectionsMax: 1)
        let rebuilding = try await Rebuilding(client: client, isReplacing: true)
        var lines: [String] = []
        _ = try await rebuilding.run { differences, _ in lines += differences.lines }
        #expect(lines.count { $0.contains("differs") } == 1, "\(lines)")
        #expect(lines.count { $0.contains("grace until") } == 2, "\(lines)")
        try await StatementPlans.expectPointLookups(client, besides: "linking_rules")
    }
}

extension RebuildRig {
    /// The findings about facts; other tests check owners and rows.
    fileprivate func findings() async throws -> [FactFinding] {
        var found: [FactFinding] = []
        let rebuilding = try await Rebuilding(client: client, isReplacing: false)
        _ = try await rebuilding.run { differences, _ in found += differences.facts }
        return found
    }

    fileprivate func picture(of table: String) async throws -> [String] {
        try await client.query("SELECT row_to_json(t)::text FROM \(table) AS t ORDER BY 1").map { $0.text(0) }
    }
}
