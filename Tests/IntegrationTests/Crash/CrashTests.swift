import Foundation
import Records
import TestSupport
import Testing
import Simulation
import Topology

extension PipelineTests {
    @Suite(.timeLimit(.minutes(15))) struct CrashTests {
        static let killsPerStage = 13

        @Test(arguments: KafkaCluster.Kind.preferred)
        func `killed at any point, the workers lose nothing and count nothing twice`(kind: KafkaCluster.Kind)
            async throws
        {
            let seed = UInt64.random(in: 1...9_999)
            let traffic = try DemoTraffic(seed: seed, bodyCount: 1_200)
            var setup = PipelineSetup(kind)
            // A killed member keeps its partitions until its session ends; a real broker returns
            // them at once to a member of the same name.
            setup.sessionTimeout = .seconds(kind == .mock ? 4 : 6)
            setup.hasStaticMembers = kind == .real
            setup.environment["BATCH_RECORDS_MAX"] = "50"
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let series = Topology.stages.enumerated().map { index, stage in
                    CrashSeries(stage, pipeline, seed: seed * 10 + UInt64(index))
                }
                try await Self.kill(series, pipeline, seed: seed)
                let kills = series.reduce(0) { $0 + $1.kills }
                let atWork = series.reduce(0) { $0 + $1.killsAtWork }
                let freezes = series.reduce(0) { $0 + $1.freezes }
                let reconciliation = try await pipeline.settle()
                print(
                    "\(kind): seed \(seed), \(kills) kills, \(atWork) of them at work, "
                        + "\(freezes) frozen inside a transaction before, \(pipeline.published.count) bodies")
                #expect(kills >= 50)
                #expect(atWork >= 20, "too few kills hit a worker at work")
                #expect(freezes >= 1, "no worker was frozen inside a transaction")
                try await pipeline.expectNothingLost(reconciliation)
            }
        }

        /// Publishes and changes links while workers are killed: more follows what is settled.
        private static func kill(_ series: [CrashSeries], _ pipeline: RunningPipeline, seed: UInt64) async throws {
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pipeline.publishSteadily(until: { isOver.isRaised }) }
                group.addTask { try await pipeline.changeLinks(seed: seed, until: { isOver.isRaised }) }
                try await withThrowingTaskGroup(of: Void.self) { killers in
                    for one in series { killers.addTask { try await one.run(count: killsPerStage) } }
                    try await killers.waitForAll()
                }
                isOver.raise()
                try await group.waitForAll()
            }
        }
    }
}
