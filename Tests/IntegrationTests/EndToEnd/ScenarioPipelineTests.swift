import AppStore
import Demonstration
import Entitlements
import JSON
import Operations
import Postgres
import Records
import TestSupport
import Store
import Testing
import Simulation

extension PipelineTests {
    /// The scenarios as signed bodies through all four workers, all at once: each has its own IDs,
    /// products and users.
    @Suite(.timeLimit(.minutes(10))) struct ScenarioPipelineTests {
        @Test func `each user may use what the scenario says, shuffled and doubled`() async throws {
            let scenarios = try ScenarioTraffic.scenarios()
            #expect(scenarios.count * 10 >= Scenario.names.count * 9)
            #expect(scenarios.contains { $0.scenario.areLinksLate })
            let traffic = try ScenarioTraffic.traffic(scenarios)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let lateScenarios = scenarios.filter(\.scenario.areLinksLate)
                let late = traffic.accountLinks.filter { link in lateScenarios.contains { $0.isOfOwnUser(link) } }
                let removed = try await pipeline.withDatabase { connection in
                    try await AccountLinkTable.drop(late, on: connection)
                }
                #expect(removed == late.count)
                try pipeline.startAll()
                try await pipeline.publish((traffic.items + traffic.items).shuffled())
                try await pipeline.settle()
                _ = try await pipeline.withDatabase { connection in try await AccountLinkTable.put(late, on: connection)
                }
                _ = try await becomesTrue(within: .seconds(60), every: .milliseconds(500)) {
                    try await Self.unanswered(scenarios, pipeline).isEmpty
                }
                let otherwise = try await Self.unanswered(scenarios, pipeline)
                #expect(otherwise == [], "these end otherwise")
                try await pipeline.expectNothingLost(try await pipeline.settle())
            }
        }

        @Test(arguments: ScenarioTraffic.namesWithOtherRules) func `by other rules of linking too`(name: String)
            async throws
        {
            let scenario = ApartScenario(alone: try Scenario.load(name))
            let traffic = try ScenarioTraffic.traffic([scenario])
            var setup = PipelineSetup(.mock)
            setup.rules = scenario.scenario.rules
            try await RunningPipeline.run(setup, traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish((traffic.items + traffic.items).shuffled())
                let settled = try await pipeline.settle()
                _ = try await becomesTrue(within: .seconds(60), every: .milliseconds(500)) {
                    try await Self.unanswered([scenario], pipeline).isEmpty
                }
                #expect(try await Self.unanswered([scenario], pipeline) == [])
                try await pipeline.expectNothingLost(settled)
            }
        }

        @Test func `all kinds of events and each policy are among them`() throws {
            let together = try ScenarioTraffic.scenarios().map(\.scenario)
            let alone = try ScenarioTraffic.namesWithOtherRules.map { try Scenario.load($0) }
            #expect(Set((together + alone).map(\.rules.policy)) == Set(OwnershipPolicy.allCases))
            #expect(alone.contains { $0.rules.tokensAreUserIDs })
            #expect(alone.contains { $0.rules.trustsIngestion })
            let observations = together.flatMap(\.observations)
            #expect(observations.contains { $0.verification?.method == .receipt })
            #expect(observations.contains { $0.facts.appTransaction != nil })
            #expect(observations.contains { $0.ingestUserID != nil })
            #expect(observations.contains { $0.facts.transaction?.items.isEmpty == false })
            #expect(together.contains { $0.name.contains("the-greater-hash-wins") })
        }

        /// The names of scenarios whose users do not hold what their files say.
        private static func unanswered(_ scenarios: [ApartScenario], _ pipeline: RunningPipeline) async throws
            -> [String]
        {
            try await pipeline.withDatabase { connection in
                var names: [String] = []
                for scenario in scenarios where try await !scenario.isAnswered(on: connection) {
                    names.append(scenario.scenario.name)
                }
                return names
            }
        }
    }
}
