import AppStore
import EntitleStage
import Entitlements
import Foundation
import JSON
import LinkStage
import Postgres
import Store
import TestSupport
import Testing
import Worker

@testable import Operations

/// Plans of links and of the policy of linking.
@Suite(.timeLimit(.minutes(10))) struct PlanOwnerTests {
    /// The rows of `link-worker` and `entitle-worker` after the scenario, and what each policy would make of them.
    @Test(arguments: Scenario.names.enumerated().filter { $0.offset % 3 == 0 }.map(\.element))
    func `the rows by another policy are those that the plan has named`(name: String) async throws {
        let scenario = try Scenario.load(name)
        let rig = try await RebuildRig(scenario.rules)
        try await rig.entitle.apply(catalog: scenario.catalogJSON)
        try await rig.settle(observations: scenario.observations)
        let connection = try await rig.client.connect()
        for policy in OwnershipPolicy.allCases {
            let plan = try await Planned(Planning(policy: policy, purchasesMax: 1), on: connection)
            var rules = scenario.rules
            rules.policy = policy
            let worker = try await LinkWorker(rules, on: rig.client)
            try await worker.stage.outboxes[0].waitForWork()
            _ = await rig.rebuild("--replace")
            // The plan's session has tables of its own in the place of the schema's owners.
            let actual = try await rig.client.connect()
            #expect(try await Planned.rows("entitlements", on: actual) == plan.rows, "\(policy)")
            #expect(try await Planned.balances(on: actual) == plan.balances, "\(policy)")
            await actual.close()
        }
        await connection.close()
    }

    @Test func `a file of links names who would gain and lose, and writes nothing`() async throws {
        let rig = try await RebuildRig()
        let end: Int64 = 4_102_444_800_000
        try await rig.settle([
            .purchase("1", token: LinkWorker.anna, until: end), .purchase("2", until: end),
            .purchase("3", token: LinkWorker.bob, until: end),
        ])
        let before = try await rig.picture()
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).csv").path
        try "kind,key,user\noriginal_transaction_id,2,carl\naccount_token,\(LinkWorker.anna.uppercased()),dora\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let plan = await rig.run(["plan", "--link-file", path, "--json"])
        #expect(plan.code == 0, "\(plan)")
        let samples = try JSONDocument(parsing: Array(plan.output.utf8)).root["samples"]?.elements.map {
            "\($0["effect"]?.string ?? "") \($0["user_id"]?.string ?? "")"
        }
        #expect(samples == ["lost anna", "gained carl", "gained dora"])
        #expect(try await rig.picture() == before)
        let broken = await rig.run(["plan", "--link-file", "/nowhere"])
        #expect(broken.code == 66, "\(broken)")
    }

    @Test func `a forgotten user's plan names what forgetting removes, and who else gains and loses`() async throws {
        let rig = try await RebuildRig(OwnershipRules(trustsIngestion: true))
        let end: Int64 = 4_102_444_800_000
        try await rig.settle([
            // Bob is named beside anna's second purchase, and a sibling of the third gives it to her alone.
            .purchase("1", token: LinkWorker.anna, until: end),
            .purchase("2", token: LinkWorker.anna, until: end, claim: "bob"),
            .purchase("3", token: LinkWorker.anna, account: RebuildRig.account, until: end),
            .purchase("4", account: RebuildRig.account, until: end, claim: "carl"),
            .purchase("5", until: end, claim: "anna"),
        ])
        let before = try await rig.picture()
        let plan = await rig.run(["plan", "--forget", "anna", "--json", "--fail-if", "lost > 1"])
        #expect(plan.code == 0, "\(plan)")
        let root = try JSONDocument(parsing: Array(plan.output.utf8)).root
        let samples = root["samples"]?.elements.map { "\($0["effect"]?.string ?? "") \($0["user_id"]?.string ?? "")" }
        #expect(samples == ["lost anna", "gained bob", "gained carl"])
        #expect(try await rig.picture() == before)
        let forgotten = await rig.run(["forget", "anna", "--by", "dpo", "--reason", "asked", "--json"])
        let removed = try JSONDocument(parsing: Array(forgotten.output.utf8)).root
        for member in ["links", "claims", "tokens"] {
            #expect(root["forgotten"]?[member]?.int64 == removed[member]?.int64, "\(member)")
        }
        #expect(removed["links"]?.int64 == 1 && removed["claims"]?.int64 == 1)
        let unknown = await rig.run(["plan", "--forget", "zoe"])
        #expect(unknown.code == 1 && unknown.output.contains("nothing is known of zoe"), "\(unknown)")
    }

    @Test func `a file of links is refused if it is empty or names the forgotten user`() async throws {
        let rig = try await RebuildRig()
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).csv").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (text, phrase) in [
            ("", "no link"), ("kind,key,user\n", "no link"), ("account_token,x,anna\n", ":1: expected"),
            ("app_transaction_id,1,anna\n", "to be forgotten"),
        ] {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let end = await rig.run(["plan", "--link-file", path, "--forget", "anna"])
            #expect(end.code == 65 && end.notes.contains(phrase), "\(text): \(end)")
        }
    }
}
