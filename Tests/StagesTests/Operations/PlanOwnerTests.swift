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
}
