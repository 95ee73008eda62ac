import Records
import Store
import AppStore
import Testing
import Simulation
import Topology

@testable import Demonstration
@testable import Operations

@Suite struct DemoResultTests {
    private static let traffic = Result { try DemoTraffic(bodyCount: 200, now: 1_767_225_600_000) }

    /// The result that a correct pipeline would leave behind.
    private func result(adjusting adjust: (inout [String: DemoUserState], inout Int64) -> Void = { _, _ in }) throws
        -> DemoResult
    {
        let traffic = try Self.traffic.get()
        var states: [String: DemoUserState] = [:]
        for user in traffic.users {
            states[user.userID] = DemoUserState(
                entitlements: user.entitlements, sandboxEntitlements: user.sandboxEntitlements, coins: user.coins)
        }
        var settled = Int64(traffic.items.count)
        adjust(&states, &settled)
        var letters = DemoLetters()
        for item in traffic.items {
            if let refusal = item.expectedRefusal { letters.add(reason: refusal.rawValue, deadLetterClass: "class") }
        }
        let tally = StageTally(began: 0, counts: [.forwarded: settled], forwarded: settled)
        let partition = PartitionAccount(
            partition: 0, held: 0..<settled, standing: .counted(committed: settled, tally: tally))
        let verify = StageAccount(stage: .verify, group: "demo.verify", topic: "demo.raw", partitions: [partition])
        return DemoResult(
            runName: "demo", items: traffic.items, plan: DemoPlan(lines: [], isRefused: true), users: traffic.users,
            duration: .seconds(3), reconciliation: Reconciliation(stages: [verify], flows: []), letters: letters,
            states: states, holdings: [], credits: [], shownUserIDs: traffic.tellingUserIDs, failedWorkers: [])
    }

    @Test func `what the traffic asks for leaves no problem`() throws {
        let result = try result()
        #expect(result.problems.isEmpty)
        #expect(result.lines.contains { $0.hasPrefix("All as it must be") })
    }

    @Test func `a user who lacks something is a problem`() throws {
        let result = try result { states, _ in
            let holder = states.first { !$0.value.entitlements.isEmpty }?.key ?? ""
            states[holder]?.entitlements = []
        }
        #expect(result.problems.count == 1)
        #expect(result.lines.contains("The demo FAILED:"))
    }

    @Test func `a user who has something without a purchase is a problem`() throws {
        let result = try result { states, _ in states["forger"] = DemoUserState(entitlements: ["pro"]) }
        #expect(result.problems == ["forger has something, and nobody of that name bought anything"])
    }

    @Test func `a body that nobody settled is a problem`() throws {
        let result = try result { _, settled in settled -= 1 }
        #expect(result.problems == ["200 bodies were published, verify settled 199"])
    }

    @Test func `a dead letter too few is a problem`() throws {
        var result = try result()
        result.letters = DemoLetters()
        #expect(result.problems.count == result.expectedLetters.count)
    }

    @Test func `customers with different stories are listed`() throws {
        let traffic = try Self.traffic.get()
        #expect(traffic.tellingUserIDs.count >= 6)
        #expect(Set(traffic.tellingUserIDs).count == traffic.tellingUserIDs.count)
    }

    @Test func `every customer with a token is linked exactly once`() throws {
        let traffic = try Self.traffic.get()
        let tokens = traffic.accountLinks.filter { $0.kind == .accountToken }.map(\.key)
        #expect(Set(tokens).count == tokens.count)
        #expect(Set(tokens.map(\.text)) == Set(traffic.users.compactMap(\.accountToken)))
    }
}
