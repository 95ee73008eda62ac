import Foundation
import Operations
import Records
import Testing
import TestSupport
import Simulation
import Topology

extension PipelineTests {
    @Suite(.timeLimit(.minutes(10))) struct CopiesTests {
        @Test(arguments: KafkaCluster.Kind.preferred)
        func `copies that join and leave under load lose nothing and count nothing twice`(kind: KafkaCluster.Kind)
            async throws
        {
            let traffic = try DemoTraffic(seed: 13, bodyCount: 900)
            var setup = PipelineSetup(kind)
            setup.partitions = 6
            setup.sessionTimeout = .seconds(kind == .mock ? 4 : 10)
            setup.environment["BATCH_RECORDS_MAX"] = "50"
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let isOver = Flag()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await pipeline.publishSteadily(until: { isOver.isRaised }) }
                    group.addTask { try await pipeline.changeLinks(seed: 13, until: { isOver.isRaised }) }
                    try await Self.comeAndGo(pipeline)
                    isOver.raise()
                    try await group.waitForAll()
                }
                try await pipeline.expectNothingLost(try await pipeline.settle())
                #expect(try await pipeline.endsOfAll().isEmpty)
            }
        }

        /// Starts one, two and three copies of each worker; then the oldest stop, and others
        /// replace them.
        private static func comeAndGo(_ pipeline: RunningPipeline) async throws {
            for count in 1...3 {
                try pipeline.startAll()
                try await waitUntilAllRead(pipeline, copies: count)
            }
            for _ in 0..<2 {
                for stage in Topology.stages {
                    guard let oldest = pipeline.copies.first(where: { $0.stage == stage }) else { continue }
                    try await pipeline.stop(oldest)
                }
                try await waitUntilAllRead(pipeline, copies: nil)
            }
            try pipeline.startAll()
            try await waitUntilAllRead(pipeline, copies: 2)
        }

        /// Waits until every partition of every stage has a reader again.
        ///
        /// - Parameter copies: how many of each stage there are, each with partitions of its own.
        private static func waitUntilAllRead(_ pipeline: RunningPipeline, copies: Int?) async throws {
            try await pipeline.waitUntilReady()
            for stage in Topology.stages {
                var shares: [Int] = []
                let isRead = await becomesTrue(within: .seconds(60), every: .milliseconds(100)) {
                    shares = pipeline.copies.filter { $0.stage == stage }.compactMap(\.assignedPartitions)
                    return shares.reduce(0, +) == Int(pipeline.layout.partitions)
                        && (copies == nil || shares.filter { $0 > 0 }.count == copies)
                }
                guard isRead else { throw PipelineFailure("\(stage.name)'s partitions are shared out as \(shares)") }
            }
        }
    }
}

extension WorkerCopy {
    /// Number of partitions that the copy reports to own.
    fileprivate var assignedPartitions: Int? { metric("assigned_partitions").map { Int($0) } }
}
