import AppStore
import Entitlements
import Records
import Simulation
import TestSupport
import Testing

struct ScenarioTests {
    @Test(arguments: Scenario.names) func `in the order of the file`(name: String) throws {
        let scenario = try Scenario.load(name)
        scenario.expectRows(of: scenario.observations)
    }

    @Test(arguments: Scenario.names) func `in reverse`(name: String) throws {
        let scenario = try Scenario.load(name)
        scenario.expectRows(of: scenario.observations.reversed())
    }

    @Test(arguments: Scenario.names) func `shuffled, with every event doubled`(name: String) throws {
        let scenario = try Scenario.load(name)
        var random = SeededGenerator(seed: 20_260_101)
        for _ in 0..<20 {
            let doubled = scenario.observations + scenario.observations
            scenario.expectRows(of: doubled.shuffled(using: &random))
        }
    }

    @Test(arguments: Scenario.names) func `through the deduplication, in any order and doubled`(name: String) throws {
        let scenario = try Scenario.load(name)
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20 {
            let doubled = scenario.observations + scenario.observations
            var memory = DedupeMemory()
            let passed = doubled.shuffled(using: &random).filter { memory.passes($0) }
            scenario.expectRows(of: passed)
        }
    }

    @Test(arguments: Scenario.names) func `with the deduplication's memory emptied at any moment`(name: String) throws {
        let scenario = try Scenario.load(name)
        var random = SeededGenerator(seed: 8)
        for _ in 0..<20 {
            let doubled = scenario.observations + scenario.observations
            var memory = DedupeMemory()
            let passed = doubled.shuffled(using: &random).filter { observation in
                if Int.random(in: 0..<3, using: &random) == 0 { memory = DedupeMemory() }
                return memory.passes(observation)
            }
            scenario.expectRows(of: passed)
        }
    }

    @Test(arguments: Scenario.names) func `everything signed again changes no row`(name: String) throws {
        let scenario = try Scenario.load(name)
        // A later signature moves the start of a first purchase that is dated after its signature.
        guard !scenario.observations.contains(where: \.isSignedAhead) else { return }
        let again = try Scenario.load(name, signedLater: 400 * 86_400_000)
        var random = SeededGenerator(seed: 9)
        scenario.expectRows(of: again.observations)
        for _ in 0..<10 {
            let both = scenario.observations + again.observations
            scenario.expectRows(of: both.shuffled(using: &random))
        }
    }

    @Test func `a catalog that no file has is refused by its name`() throws {
        let json = Array(#"{"catalog":"nothing","events":[{"signed":"2026-01-01"}]}"#.utf8)
        let error = #expect(throws: ScenarioError.self) { try ScenarioFile(json, in: Scenario.folder) }
        #expect(try #require(error).description.hasPrefix("no catalog is named nothing: cannot read /"))
    }

    @Test func `there are scenarios, and one for each defect found in other systems`() throws {
        #expect(Scenario.names.count >= 150)
        let defects = try Scenario.names.flatMap { try Scenario.load($0).defects }
        #expect(Set(defects) == Set(KnownDefect.allCases))
    }
}

extension Scenario {
    /// Folds the observations and compares rows, boundaries and balances with the expected ones.
    fileprivate func expectRows(of observations: [Observation]) {
        var facts = FactSet()
        for observation in observations { #expect(facts.add(observation) == nil, "\(name)") }
        let fold = EntitlementFold(facts, links: links, rules: rules, catalog: catalog)
        let rows = fold.periodsByUserAndKey()
        #expect(rows == entitlements, "\(name)")
        #expect(fold.balances() == balances, "\(name)")
        if let terms { #expect(fold.terms() == terms, "\(name)") }
        for (user, keys) in entitlements {
            for (key, expected) in keys {
                let held = rows[user]?[key] ?? PeriodSet()
                expectBoundaries(of: expected, in: held, "\(name): \(user) \(key)")
            }
        }
    }

    private func expectBoundaries(of expected: PeriodSet, in held: PeriodSet, _ comment: Comment) {
        for period in expected.periods {
            let start = period.start.milliseconds
            #expect(held.contains(period.start), comment)
            #expect(!held.contains(Timestamp(milliseconds: start - 1)), comment)
            #expect(!held.contains(Timestamp(milliseconds: start - 1000)), comment)
            guard let end = period.end?.milliseconds else {
                #expect(held.contains(.latest), comment)
                continue
            }
            #expect(held.contains(Timestamp(milliseconds: end - 1000)), comment)
            #expect(held.contains(Timestamp(milliseconds: end - 1)), comment)
            #expect(!held.contains(Timestamp(milliseconds: end)), comment)
        }
    }
}

extension Observation {
    fileprivate var isSignedAhead: Bool {
        facts.transaction.map { $0.revision.signedDate < $0.identity.purchaseDate } ?? false
    }
}
