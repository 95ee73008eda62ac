import Kafka
import Records
import Worker

/// Reads what the stages wrote, and counts each output once.
struct ExactCounter {
    /// For one topic, however large: reading goes at some hundred thousand records a second.
    private static let deadline = Duration.seconds(3_600)

    private let reader: TopicReader

    init(_ reader: TopicReader) {
        self.reader = reader
    }

    /// The exact counts of a topic, by each of its writers.
    ///
    /// - Parameter position: which stage wrote a record, and of which input; nil for records that
    ///   answer none.
    func count(
        _ topic: String,
        by stages: [StageAccount],
        counted: (StageTally) -> Int64,
        position: (ConsumerRecord) -> (stage: StageDescription, input: InputPosition)?
    ) async throws -> [ExactCount] {
        var sets: [StageDescription: [Int32: PositionSet]] = [:]
        for stage in stages {
            sets[stage.stage] = Dictionary(
                uniqueKeysWithValues: stage.partitions.map { partition in
                    (partition.partition, PositionSet(partition.settledRange))
                }
            )
        }
        var repeated: [StageDescription: Int64] = [:]
        let removed = try await reader.visit(topic, deadline: Self.deadline) { record in
            guard let (stage, input) = position(record),
                sets[stage]?[input.partition]?.contains(offset: input.offset) == true
            else { return }
            let isNew = try sets[stage]?[input.partition]?.insert(
                offset: input.offset,
                index: input.index
            )
            if isNew == false { repeated[stage, default: 0] += 1 }
        }
        return stages.map { stage in
            ExactCount(
                writer: stage.stage,
                input: stage.topic,
                partitions: stage.partitions.map { partition in
                    ExactCount.Partition(
                        partition: partition.partition,
                        counted: partition.tally.map(counted) ?? 0,
                        found: sets[stage.stage]?[partition.partition]?.count ?? 0
                    )
                },
                repeated: repeated[stage.stage] ?? 0,
                removed: removed
            )
        }
    }
}

extension ExactCounter {
    /// The same reconciliation with every topic counted exactly.
    func count(_ quick: Reconciliation) async throws -> Reconciliation {
        var flows: [Flow] = []
        for flow in quick.flows {
            let stages = quick.stages.filter { flow.writers.contains($0.stage) }
            var flow = flow
            if stages.count == 1, let stage = stages.first?.stage {
                flow.exact = try await count(flow.topic, by: stages, counted: { $0.forwarded }) {
                    record in
                    InputPosition(record).map { (stage, $0) }
                }
            } else {
                flow.exact = try await count(flow.topic, by: stages, counted: { $0.deadLettered }) {
                    record in
                    Self.deadLettered(record, stages)
                }
            }
            flows.append(flow)
        }
        return Reconciliation(stages: quick.stages, flows: flows)
    }

    /// The stage that refused a record, and where it read it.
    private static func deadLettered(
        _ record: ConsumerRecord,
        _ stages: [StageAccount]
    ) -> (stage: StageDescription, input: InputPosition)? {
        func text(_ name: String) -> String? {
            record.headers.last { $0.name == name }?.value
                .map { String(decoding: $0, as: UTF8.self) }
        }
        guard let name = text(DeadLetterHeader.stage),
            let topic = text(DeadLetterHeader.sourceTopic),
            let stage = stages.first(where: { $0.stage.name == name && $0.topic == topic })?.stage,
            let partition = text(DeadLetterHeader.sourcePartition).flatMap({ Int32($0) }),
            let offset = text(DeadLetterHeader.sourceOffset).flatMap({ Int64($0) })
        else { return nil }
        return (stage, InputPosition(partition: partition, offset: offset, index: 0))
    }
}

extension PartitionAccount {
    /// The offsets that the tally counts.
    fileprivate var settledRange: Range<Int64> {
        guard case .counted(let committed, let tally) = standing else { return 0..<0 }
        return min(tally.began, committed)..<committed
    }
}

extension StageTally {
    fileprivate var deadLettered: Int64 { counts[.deadLettered] ?? 0 }
}
