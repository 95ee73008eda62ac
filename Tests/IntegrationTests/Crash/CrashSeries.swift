import Kafka
import Records
import Simulation
import Operations
import Postgres
import Synchronization
import TestSupport
import Topology
import Worker

/// Kills one stage's worker again and again, each time at another point of its work.
///
/// The points are chosen by what the worker has written or committed since its start, so that many
/// of them lie between an effect and the commit of its offset. One in five is killed after a moment
/// instead, in any state: while it starts, or while it joins its group.
final class CrashSeries: Sendable {
    let stage: StageDescription
    private let pipeline: RunningPipeline
    private let state: Mutex<State>

    private struct State {
        var generator: SeededGenerator
        var kills = 0
        var killsAtWork = 0
        var freezes = 0
    }

    /// A trace of a worker outside its process.
    private enum Mark: CaseIterable { case written, committed }

    init(_ stage: StageDescription, _ pipeline: RunningPipeline, seed: UInt64) {
        self.stage = stage
        self.pipeline = pipeline
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    var kills: Int { state.withLock(\.kills) }

    /// Number of kills of workers that had done work since their start.
    var killsAtWork: Int { state.withLock(\.killsAtWork) }

    /// Number of killed workers that were frozen inside a transaction before.
    var freezes: Int { state.withLock(\.freezes) }

    /// Number of copies of which one is frozen inside a transaction before it is killed.
    private static let freezeInterval = 4

    /// Starts the worker, kills it `count` times, and leaves the last one running.
    func run(count: Int) async throws {
        for number in 1...count {
            let copy = try pipeline.start(stage)
            if number.isMultiple(of: Self.freezeInterval), try await pipeline.freezeInTransaction(copy) {
                state.withLock { $0.freezes += 1 }
            }
            let isAtWork = try await waitForRandomPoint()
            guard copy.process.isRunning else {
                throw PipelineFailure("\(copy.name) has ended by itself: \(copy.log.lines.suffix(3))")
            }
            try await pipeline.kill(copy)
            state.withLock { state in
                state.kills += 1
                state.killsAtWork += isAtWork ? 1 : 0
            }
        }
        try pipeline.start(stage)
    }

    /// Waits for a random amount of work.
    ///
    /// - Returns: whether the worker got there before its time was over.
    private func waitForRandomPoint() async throws -> Bool {
        let (mark, distance, patience) = state.withLock { state in
            (
                Mark.allCases.randomElement(using: &state.generator) ?? .written,
                Int64.random(in: 1...40, using: &state.generator), Self.patience(&state.generator)
            )
        }
        let start = try await value(of: mark)
        return try await becomesTrue(within: patience, every: .milliseconds(2)) {
            try await value(of: mark) >= start + distance
        }
    }

    /// A group of the mock takes four seconds and more to readmit a killed member.
    private static func patience(_ generator: inout SeededGenerator) -> Duration {
        let isMoment = Int.random(in: 0..<5, using: &generator) == 0
        let span: ClosedRange<Int64> = isMoment ? 100...3_000 : 10_000...15_000
        return .milliseconds(Int64.random(in: span, using: &generator))
    }

    private func value(of mark: Mark) async throws -> Int64 {
        switch (mark, stage.outputTopic) {
        case (.committed, _):
            let commits = try await pipeline.admin.committedOffsets(
                group: pipeline.settings.group(stage), partitions(stage.inputTopic), deadline: .seconds(30))
            return commits.values.reduce(0) { $0 + ($1.offset ?? 0) }
        case (.written, let topic?):
            let marks = try await pipeline.admin.listOffsets(partitions(topic), deadline: .seconds(30))
            return marks.values.reduce(0) { $0 + $1.high }
        case (.written, nil):
            return try await pipeline.withDatabase { connection in
                try await connection.query(
                    "SELECT (SELECT count(*) FROM revisions) + (SELECT count(*) FROM notifications)")[0].int8(0)
            }
        }
    }

    private func partitions(_ topic: String) -> [TopicPartition] {
        (0..<pipeline.layout.partitions).map { partition in
            TopicPartition(topic: pipeline.layout.prefix + topic, partition: partition)
        }
    }
}
