import AppStore
import Records
import Simulation
import TestSupport
import Testing

@testable import Entitlements

/// Random histories, in which order and repetition decide nothing.
struct FoldPropertyTests {
    private static let catalog = Catalog([
        Product(id: "basic", type: .autoRenewable, entitlementKeys: ["basic"]),
        Product(id: "pro", type: .autoRenewable, entitlementKeys: ["basic", "pro"]),
        Product(id: "life", type: .nonConsumable, entitlementKeys: ["life"]),
        Product(
            id: "season", type: .nonRenewing, entitlementKeys: ["season"],
            durations: CalendarPeriod(iso8601: "P10D").map { [EffectiveDated($0)] } ?? []),
        Product(id: "coins", type: .consumable, credits: ["coins": [EffectiveDated(101)]]),
    ])

    @Test(arguments: OwnershipPolicy.allCases) func `any permutation and duplication of the facts gives the same rows`(
        policy: OwnershipPolicy
    ) {
        var random = SeededGenerator(seed: 42)
        for _ in 0..<150 {
            let history = RandomHistory(using: &random)
            let expected = Self.fold(history.facts, history, policy)
            for _ in 0..<4 {
                let repeated = history.facts + history.facts.shuffled(using: &random)
                let shuffled = repeated.shuffled(using: &random)
                let fold = Self.fold(shuffled, history, policy)
                #expect(fold.projected == expected.projected)
                #expect(fold.ownership == expected.ownership)
            }
        }
    }

    @Test func `dropped observations change no row`() {
        var random = SeededGenerator(seed: 43)
        for _ in 0..<200 {
            let history = RandomHistory(using: &random)
            let expected = Self.fold(history.facts, history, .transfer)
            let repeated = (history.facts + history.facts).shuffled(using: &random)
            var known: [PartKey: [PartRevision]] = [:]
            let passed = repeated.filter { fact in
                let part = fact.part
                let verdict = part.revision.verdict(against: known[part.key] ?? [])
                known[part.key, default: []].append(part.revision)
                return verdict != .duplicate
            }
            #expect(Self.fold(passed, history, .transfer).projected == expected.projected)
        }
    }

    @Test func `no instant is held by two users, whatever the policy`() {
        var random = SeededGenerator(seed: 44)
        for _ in 0..<150 {
            let history = RandomHistory(using: &random)
            for policy in OwnershipPolicy.allCases {
                for projected in Self.fold(history.facts, history, policy).projected.values {
                    expectDisjoint(projected.rows.filter { $0.key != "season" })
                }
            }
        }
    }

    private func expectDisjoint(_ rows: [EntitlementRow]) {
        for row in rows {
            for other in rows where other.key == row.key && other.userID != row.userID {
                for period in row.periods.periods {
                    let shared = other.periods.clipped(from: period.start, until: period.end)
                    #expect(shared.isEmpty)
                }
            }
        }
    }

    private static func fold(_ facts: [RandomHistory.Fact], _ history: RandomHistory, _ policy: OwnershipPolicy)
        -> EntitlementFold
    {
        var set = FactSet()
        for fact in facts {
            switch fact {
            case .transaction(let fact): #expect(set.add(fact) == nil)
            case .renewal(let fact): set.add(fact)
            }
        }
        return EntitlementFold(set, links: history.links, rules: OwnershipRules(policy: policy), catalog: catalog)
    }
}
