import AppStore
import Kafka
import Records
import Settings

/// Reads the outputs of the stages, and counts each once.
struct ExactCounter {
    /// The callback for progress: a topic, its number of read offsets, and their total.
    typealias Progress = (_ topic: String, _ done: Int64, _ total: Int64) -> Void

    let reader: TopicReader

    /// An output, identified by its writer and its input.
    private struct Output {
        let stage: StageDescription
        let input: InputPosition
        /// The time at which the input was written, by its broker's clock in UNIX milliseconds.
        ///
        /// `nil` if unknown.
        let writtenAt: Int64?
    }

    /// Counts a topic exactly, for each of its writers.
    ///
    /// - Parameter output: reads the output in a record; `nil` for a record without an input.
    private func count(
        _ topic: String, by stages: [StageAccount], _ progress: Progress, counted: (StageTally) -> Int64,
        output: (ConsumerRecord) throws -> Output?
    ) async throws -> [ExactCount] {
        var sets: [StageDescription: [Int32: PositionSet]] = [:]
        for stage in stages {
            sets[stage.stage] = Dictionary(
                uniqueKeysWithValues: stage.partitions.map { partition in
                    (partition.partition, PositionSet(partition.settledRange))
                })
        }
        let beginnings = try await beginnings(of: stages)
        var repeated: [StageDescription: Int64] = [:]
        var former: [StageDescription: Int64] = [:]
        let removed = try await reader.visit(topic, progress: { progress(topic, $0, $1) }) { record in
            guard let output = try output(record) else { return }
            let (stage, input) = (output.stage, output.input)
            guard sets[stage]?[input.partition]?.contains(offset: input.offset) == true else { return }
            if let first = beginnings[stage]?[input.partition], input.offset >= first.offset,
                let time = first.timestampMilliseconds, output.writtenAt ?? time < time
            {
                former[stage, default: 0] += 1
                return
            }
            let isNew = try sets[stage]?[input.partition]?.insert(offset: input.offset, index: input.index)
            if isNew == false { repeated[stage, default: 0] += 1 }
        }
        return stages.map { stage in
            ExactCount(
                writer: stage.stage, input: stage.topic,
                partitions: stage.partitions.map { partition in
                    ExactCount.Partition(
                        partition: partition.partition, counted: partition.tally.map(counted) ?? 0,
                        found: sets[stage.stage]?[partition.partition]?.count ?? 0)
                }, repeated: repeated[stage.stage] ?? 0, former: former[stage.stage] ?? 0, removed: removed)
        }
    }

    /// Reads the first records of the partitions that contain bodies.
    ///
    /// If an output's input was written before the first record, although the partition still holds
    /// its offset, the input was in a former topic of that name. Nothing is compared if producers
    /// set the timestamps, because these are not ordered.
    private func beginnings(of stages: [StageAccount]) async throws -> [StageDescription: [Int32: ConsumerRecord]] {
        var beginnings: [StageDescription: [Int32: ConsumerRecord]] = [:]
        for stage in stages where !stage.stage.readsObservations {
            guard try await reader.hasBrokersTimestamps(stage.topic) else { continue }
            let held = stage.partitions.map { partition in
                let place = TopicPartition(topic: stage.topic, partition: partition.partition)
                return (place, partition.held)
            }
            for record in try await reader.first(in: Dictionary(uniqueKeysWithValues: held)) {
                beginnings[stage.stage, default: [:]][record.topicPartition.partition] = record
            }
        }
        return beginnings
    }
}

extension ExactCounter {
    /// Returns the reconciliation with every topic counted exactly.
    ///
    /// - Parameter progress: called with the number of read offsets of a topic.
    func count(_ quick: Reconciliation, progress: Progress) async throws -> Reconciliation {
        var flows: [Flow] = []
        for flow in quick.flows {
            let stages = quick.stages.filter { flow.writers.contains($0.stage) }
            var flow = flow
            let only = stages.count == 1 ? stages.first?.stage : nil
            flow.exact = try await count(
                flow.topic, by: stages, progress,
                counted: { only == nil ? $0.counts[.deadLettered] ?? 0 : $0.forwarded }
            ) { record in
                guard let only else { return Self.deadLettered(record, stages) }
                return try Self.observed(record, by: only)
            }
            flows.append(flow)
        }
        var exact = Reconciliation(stages: quick.stages, flows: flows)
        exact.skippedMax = quick.skippedMax
        return exact
    }

    /// Returns the output in a record.
    ///
    /// `nil` for an observation without an input record, and for a record that no stage has written.
    ///
    /// - Throws: `CommandError` for a record of a later program version, which cannot be counted.
    private static func observed(_ record: ConsumerRecord, by stage: StageDescription) throws(CommandError) -> Output? {
        do {
            let observation = try Observation(record)
            return observation.inputPosition.map { input in
                Output(stage: stage, input: input, writtenAt: observation.source?.timestamp?.milliseconds)
            }
        } catch {
            guard let version = error.newerVersion else { return nil }
            throw CommandError(
                ExitCode.data,
                "\(RecordPosition(record)) is an observation of version \(version), which this "
                    + "program cannot read: reconcile with the newest one")
        }
    }

    /// Returns the output in a dead letter, for the stage that refused its record.
    private static func deadLettered(_ record: ConsumerRecord, _ stages: [StageAccount]) -> Output? {
        func text(_ name: String) -> String? {
            record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        guard let name = text(DeadLetterHeader.stage), let topic = text(DeadLetterHeader.sourceTopic),
            let stage = stages.first(where: { $0.stage.name == name && $0.topic == topic })?.stage,
            let partition = text(DeadLetterHeader.sourcePartition).flatMap({ Int32($0) }),
            let offset = text(DeadLetterHeader.sourceOffset).flatMap({ Int64($0) })
        else { return nil }
        return Output(
            stage: stage, input: InputPosition(partition: partition, offset: offset, index: 0),
            writtenAt: text(DeadLetterHeader.sourceTimestamp).flatMap {
                Int64($0).map { Timestamp(milliseconds: $0).milliseconds }
            })
    }
}

extension PartitionAccount {
    /// The offsets that the tally counts.
    fileprivate var settledRange: Range<Int64> {
        guard case .counted(let committed, let tally, _) = standing else { return 0..<0 }
        // A commit beyond the partition's end settles only the existing records.
        let end = min(committed, held.upperBound)
        return min(tally.began, end)..<end
    }
}

/// A set of positions in one input partition, with one bit for each.
///
/// First outputs use a bitmap over the offsets. Further outputs, of bodies and receipts with many
/// items, use a word for each occurring index and group of 64 offsets.
struct PositionSet {
    /// Maximum words of further outputs; they take about 700 MB.
    static let furtherWordsMax = 1 << 24

    private struct Word: Hashable {
        let number: Int
        let index: Int
    }

    private let range: Range<Int64>
    private let furtherWordsMax: Int
    private var firsts: [UInt64] = []
    private var further: [Word: UInt64] = [:]
    private(set) var count: Int64 = 0

    /// - Parameter range: the offsets that count.
    init(_ range: Range<Int64>, furtherWordsMax: Int = PositionSet.furtherWordsMax) {
        self.range = range
        self.furtherWordsMax = furtherWordsMax
    }

    func contains(offset: Int64) -> Bool { range.contains(offset) }

    /// Adds a position in the range; returns false if the set contains it already.
    ///
    /// - Throws: `CommandError` if the set would need too much memory.
    mutating func insert(offset: Int64, index: Int) throws(CommandError) -> Bool {
        let place = Int(offset - range.lowerBound)
        let (word, bit) = (place / 64, UInt64(1) << UInt64(place % 64))
        let isNew = index == 0 ? insertFirst(word, bit) : try insertFurther(Word(number: word, index: index), bit)
        count += isNew ? 1 : 0
        return isNew
    }

    private mutating func insertFirst(_ word: Int, _ bit: UInt64) -> Bool {
        if word >= firsts.count { firsts += Array(repeating: 0, count: word + 1 - firsts.count) }
        guard firsts[word] & bit == 0 else { return false }
        firsts[word] |= bit
        return true
    }

    private mutating func insertFurther(_ word: Word, _ bit: UInt64) throws(CommandError) -> Bool {
        let bits = further[word] ?? 0
        guard bits & bit == 0 else { return false }
        guard bits != 0 || further.count < furtherWordsMax else {
            throw CommandError(
                ExitCode.data,
                "the records of one partition brought out more outputs than the exact count can "
                    + "hold in memory: reconcile without --exact")
        }
        further[word] = bits | bit
        return true
    }
}
