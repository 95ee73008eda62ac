import Foundation
import Kafka
import Operations
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// Changing numbers of copies and of partitions, under load.
    ///
    /// The script deploy/rehearsal.sh runs it, as it uses a whole machine for minutes.
    @Suite(
        .timeLimit(.minutes(15)),
        .enabled(if: ProcessInfo.processInfo.environment["REHEARSAL"] == "yes", "run by deploy/rehearsal.sh"),
        .needsRealKafka) struct ScalingTests
    {
        private static let pauseMax = Duration.seconds(5)
        private static let sessionTimeout = Duration.seconds(10)

        @Test func `copies and partitions come and go under load, and no partition waits long`() async throws {
            let copies = 8
            var setup = Self.setup(partitions: copies)
            // New partitions are seen after a minute by default.
            setup.environment["RDKAFKA_TOPIC_METADATA_REFRESH_INTERVAL_MS"] = "2000"
            try await Self.run(setup) { pipeline, pauses in
                for stage in Topology.stages {
                    let more = try (2...copies).map { _ in try pipeline.start(stage) }
                    try await pipeline.waitUntilShared(copies: copies, of: [stage])
                    try await Self.stop(more, pipeline)
                    try await pipeline.waitUntilShared(copies: 1, of: [stage])
                }
                try await Self.addPartitions(pipeline, copies + 4)
                let longest = try await pauses.take()
                for (stage, pause) in longest.sorted(by: { $0.key.name < $1.key.name }) {
                    print("longest pause of a partition of \(stage.name): \(pause)")
                    #expect(pause < Self.pauseMax, "\(stage.name)")
                }
            }
        }

        /// Copies that leave on stop, as with an autoscaler, and one that keeps its partitions over
        /// a restart.
        ///
        /// A session outlasts the allowed pause.
        @Test func `static copies come, restart and go, and no partition waits for a session`() async throws {
            var setup = Self.setup(partitions: 6)
            setup.hasStaticMembers = true
            setup.sessionTimeout = Self.sessionTimeout
            try await Self.run(setup) { pipeline, pauses in
                let leaving = ["KAFKA_LEAVE_ON_STOP": "true"]
                for stage in Topology.stages {
                    var more = try (2...3).map { try pipeline.start(stage, place: $0, environment: leaving) }
                    try await pipeline.waitUntilShared(copies: 3, of: [stage])
                    try await Self.expect(pauses, stage, "1 to 3 copies")

                    try await pipeline.stop(more.removeLast())
                    try await pipeline.waitUntilShared(copies: 2, of: [stage])
                    try await Self.expect(pauses, stage, "3 to 2 copies")

                    more.append(try pipeline.start(stage, place: 3))
                    try await pipeline.waitUntilShared(copies: 3, of: [stage])
                    // The pause of the join is measured here, so that the next one is the restart's alone.
                    try await Self.expect(pauses, stage, "2 to 3 copies")

                    try await pipeline.stop(more.removeLast())
                    more.append(try pipeline.start(stage, place: 3, environment: leaving))
                    try await pipeline.waitUntilShared(copies: 3, of: [stage])
                    try await Self.expect(pauses, stage, "a restart that stays a member")

                    try await Self.stop(more, pipeline)
                    try await pipeline.waitUntilShared(copies: 1, of: [stage])
                    try await Self.expect(pauses, stage, "3 to 1 copies")
                }
            }
        }

        private static func setup(partitions: Int) -> PipelineSetup {
            var setup = PipelineSetup(.real)
            setup.partitions = Int32(partitions)
            setup.environment["BATCH_RECORDS_MAX"] = "50"
            return setup
        }

        /// Runs one copy of each worker under load, and expects afterwards that nothing was lost.
        private static func run(_ setup: PipelineSetup, _ body: (RunningPipeline, CommitPauses) async throws -> Void)
            async throws
        {
            let traffic = try DemoTraffic(seed: 23, bodyCount: 600)
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let isOver = Flag()
                let pauses = CommitPauses()
                try pipeline.startAll()
                try await pipeline.waitUntilShared(copies: 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await pipeline.publishSteadily(until: { isOver.isRaised }) }
                    group.addTask { await pauses.watch(pipeline, until: { isOver.isRaised }) }
                    try await body(pipeline, pauses)
                    isOver.raise()
                    try await group.waitForAll()
                }
                try await pipeline.expectNothingLost(try await pipeline.settle())
                #expect(try await pipeline.endsOfAll().isEmpty)
            }
        }

        private static func stop(_ copies: [WorkerCopy], _ pipeline: RunningPipeline) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for copy in copies { group.addTask { try await pipeline.stop(copy) } }
                try await group.waitForAll()
            }
        }

        /// Prints the longest pause since the last time, of this stage and of those that stayed.
        private static func expect(_ pauses: CommitPauses, _ stage: StageDescription, _ what: String) async throws {
            let longest = try await pauses.take()
            let pause = longest[stage] ?? .zero
            let others = longest.filter { $0.key != stage }.values.max() ?? .zero
            print("\(stage.name), static members, \(what): \(pause), the other stages \(others)")
            #expect(pause < Self.pauseMax, "\(stage.name), \(what)")
            #expect(others < Self.pauseMax, "the others while \(stage.name): \(what)")
        }

        private static func addPartitions(_ pipeline: RunningPipeline, _ partitions: Int) async throws {
            let before = Int(pipeline.layout.partitions)
            var layout = pipeline.layout
            layout.partitions = Int32(partitions)
            let report = try await TopicDeployment(pipeline.admin, layout).run(
                isAltering: false, isAddingPartitions: true)
            #expect(report.extended.count == Topology.stages.count)
            try await pipeline.waitUntilShared(partitions: partitions, copies: 1)
            let isUsed = try await becomesTrue(within: .seconds(90), every: .milliseconds(250)) {
                try await pipeline.workerAccounts().dropFirst().allSatisfy { account in
                    account.partitions.dropFirst(before).contains { $0.committed ?? 0 > 0 }
                }
            }
            #expect(isUsed, "new partitions are written to and read")
        }
    }
}
