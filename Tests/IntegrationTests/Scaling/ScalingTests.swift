import Foundation
import Kafka
import Operations
import Simulation
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// From one copy to eight and back, and more partitions, under load.
    ///
    /// Run by deploy/rehearsal.sh, as it is a whole machine's work for minutes.
    @Suite(
        .timeLimit(.minutes(15)),
        .enabled(
            if: ProcessInfo.processInfo.environment["REHEARSAL"] == "yes",
            "run by deploy/rehearsal.sh"
        ),
        .needsRealKafka
    )
    struct ScalingTests {
        private static let copies = 8
        private static let pauseMax = Duration.seconds(5)

        @Test func `copies and partitions come and go under load, and no partition waits long`()
            async throws
        {
            let traffic = try DemoTraffic(
                seed: 23,
                bodyCount: 600,
                now: Int64(Date().timeIntervalSince1970 * 1_000)
            )
            var setup = PipelineSetup(.real)
            setup.partitions = Int32(Self.copies)
            setup.environment["BATCH_RECORDS_MAX"] = "50"
            // A minute by default until new partitions are seen.
            setup.environment["RDKAFKA_TOPIC_METADATA_REFRESH_INTERVAL_MS"] = "2000"
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let isOver = Flag()
                let pauses = CommitPauses()
                try pipeline.startAll()
                try await Self.waitUntilShared(pipeline, partitions: Self.copies, copies: 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await pipeline.publishSteadily(until: { isOver.isRaised })
                    }
                    group.addTask { try await pauses.watch(pipeline, until: { isOver.isRaised }) }
                    for stage in Topology.stages {
                        try await Self.scale(stage, pipeline)
                    }
                    try await Self.addPartitions(pipeline)
                    isOver.raise()
                    try await group.waitForAll()
                }
                try await pipeline.expectNothingLost(try await pipeline.settle())
                #expect(try await pipeline.endsOfAll().isEmpty)
                for (stage, pause) in pauses.longest.sorted(by: { $0.key.name < $1.key.name }) {
                    print("longest pause of a partition of \(stage.name): \(pause)")
                    #expect(pause < Self.pauseMax, "\(stage.name)")
                }
            }
        }

        /// Seven more copies of one stage, and when each has its share, away with them.
        private static func scale(
            _ stage: StageDescription,
            _ pipeline: RunningPipeline
        ) async throws {
            let more = try (2...copies).map { _ in try pipeline.start(stage) }
            try await waitUntilShared(pipeline, partitions: copies, copies: copies, of: [stage])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for copy in more {
                    group.addTask { try await pipeline.stop(copy) }
                }
                try await group.waitForAll()
            }
            try await waitUntilShared(pipeline, partitions: copies, copies: 1, of: [stage])
        }

        private static func addPartitions(_ pipeline: RunningPipeline) async throws {
            let partitions = copies + 4
            var layout = pipeline.layout
            layout.partitions = Int32(partitions)
            let report = try await TopicDeployment(pipeline.admin, layout)
                .run(isAltering: false, isAddingPartitions: true)
            #expect(report.extended.count == Topology.stages.count)
            try await waitUntilShared(pipeline, partitions: partitions, copies: 1)
            let isUsed = try await becomesTrue(within: .seconds(90), every: .milliseconds(250)) {
                try await pipeline.reconciliation().stages.dropFirst().allSatisfy { account in
                    account.partitions.dropFirst(copies).contains { $0.committed ?? 0 > 0 }
                }
            }
            #expect(isUsed, "new partitions are written to and read")
        }

        private static func waitUntilShared(
            _ pipeline: RunningPipeline,
            partitions: Int,
            copies: Int,
            of stages: [StageDescription] = Topology.stages
        ) async throws {
            for stage in stages {
                var shares: [Int] = []
                let isShared = await becomesTrue(within: .seconds(120), every: .milliseconds(100)) {
                    shares = pipeline.copies.filter { $0.stage == stage }
                        .compactMap { $0.metric("assigned_partitions").map { Int($0) } }
                    return shares.reduce(0, +) == partitions
                        && shares.filter { $0 > 0 }.count == copies
                }
                guard isShared else {
                    throw PipelineFailure(
                        "\(stage.name)'s partitions are shared out as \(shares)"
                    )
                }
            }
        }
    }
}

/// How long partitions with records that wait have committed nothing.
private final class CommitPauses: Sendable {
    private struct Key: Hashable {
        let stage: StageDescription
        let partition: Int32
    }

    private struct State {
        var settled: [Key: Int64] = [:]
        var moved: [Key: ContinuousClock.Instant] = [:]
        var longest: [StageDescription: Duration] = [:]
    }

    private let state = Mutex(State())

    var longest: [StageDescription: Duration] { state.withLock(\.longest) }

    func watch(_ pipeline: RunningPipeline, until isOver: () -> Bool) async throws {
        _ = try await becomesTrue(within: .seconds(900), every: .milliseconds(100)) {
            let reconciliation = try await pipeline.reconciliation()
            let now = ContinuousClock.now
            state.withLock { state in
                for account in reconciliation.stages {
                    for partition in account.partitions {
                        let key = Key(stage: account.stage, partition: partition.partition)
                        Self.add(key, partition, at: now, to: &state)
                    }
                }
            }
            return isOver()
        }
    }

    private static func add(
        _ key: Key,
        _ partition: PartitionAccount,
        at now: ContinuousClock.Instant,
        to state: inout State
    ) {
        let committed = partition.committed ?? 0
        let hasMoved = state.settled[key] != committed
        if let since = state.moved[key] {
            let pause = now - since
            state.longest[key.stage] = max(state.longest[key.stage] ?? .zero, pause)
        }
        state.settled[key] = committed
        if partition.lag == 0 {
            // Nothing waits: a pause begins with the next record.
            state.moved[key] = nil
        } else if hasMoved || state.moved[key] == nil {
            state.moved[key] = now
        }
    }
}
