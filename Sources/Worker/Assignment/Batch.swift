import Kafka
import OpenSSL

/// Records that go through the stage together, and the claims under which they were read.
struct Batch: Sendable {
    /// The records of one partition in it.
    struct Part: Sendable {
        let claim: PartitionClaim
        /// Only looked at: the partition was pinned before, and is read again later.
        let isWatched: Bool
    }

    let id: Int
    private(set) var records: [ConsumerRecord] = []
    private(set) var parts: [Part] = []
    /// The part of each record.
    private(set) var partOfRecord: [Int] = []
    private(set) var gaps: [OffsetGap] = []

    init(id: Int) {
        self.id = id
    }

    var isEmpty: Bool { records.isEmpty }

    mutating func reserve(_ count: Int) {
        records.reserveCapacity(count)
        partOfRecord.reserveCapacity(count)
    }

    mutating func append(_ part: Part) {
        parts.append(part)
    }

    mutating func append(_ record: ConsumerRecord, part: Int) {
        records.append(record)
        partOfRecord.append(part)
    }

    mutating func append(_ gap: OffsetGap) {
        gaps.append(gap)
    }

    /// A record's offset, or that of the gap right before it.
    func start(ofRecordAt index: Int) -> Int64 {
        let record = records[index]
        let gap = gaps.first {
            $0.before == record.offset && $0.partition == record.topicPartition
        }
        return gap?.first ?? record.offset
    }

    /// The batch without some of its records; parts and gaps stay.
    func filtered(_ isKept: (ConsumerRecord, Part) -> Bool) -> Batch {
        var kept = Batch(id: id)
        kept.parts = parts
        kept.gaps = gaps
        kept.reserve(records.count)
        for (record, part) in zip(records, partOfRecord) where isKept(record, parts[part]) {
            kept.append(record, part: part)
        }
        return kept
    }

    /// The first records, with the gaps before them, and the rest as a batch of its own.
    func split(at count: Int, restID: Int) -> (first: Batch, rest: Batch) {
        var first = Batch(id: id)
        var rest = Batch(id: restID)
        first.parts = parts
        rest.parts = parts
        var ends: [TopicPartition: Int64] = [:]
        for (index, record) in records.enumerated() {
            if index < count {
                first.append(record, part: partOfRecord[index])
                ends[record.topicPartition] = record.offset + 1
            } else {
                rest.append(record, part: partOfRecord[index])
            }
        }
        for gap in gaps {
            if gap.before < ends[gap.partition] ?? .min {
                first.append(gap)
            } else {
                rest.append(gap)
            }
        }
        return (first, rest)
    }

    /// The batch without one partition's records and gaps.
    func without(_ partition: TopicPartition) -> Batch {
        var kept = filtered { record, _ in record.topicPartition != partition }
        kept.gaps.removeAll { $0.partition == partition }
        return kept
    }

    /// The batch's addition to each part's tally.
    ///
    /// - Parameters:
    ///   - pins: nothing from these offsets on counts.
    ///   - nextTopic: outputs to it count as forwarded; nil after the last stage.
    ///   - chainHeads: the head of each part's chain of dead letters; empty if the batch has no
    ///     dead letter.
    func increments(
        _ verdicts: [Verdict],
        pins: [TopicPartition: Int64] = [:],
        nextTopic: String? = nil,
        chainHeads: [SHA256Digest?] = []
    ) -> [TallyIncrement] {
        precondition(verdicts.count == records.count, "one verdict for each record")
        var increments = Array(repeating: TallyIncrement(), count: parts.count)
        for index in verdicts.indices {
            increments[partOfRecord[index]].add(
                verdicts[index].disposition,
                forwarded: verdicts[index].outputCount(to: nextTopic)
            )
        }
        for (part, head) in chainHeads.enumerated() {
            increments[part].chainHead = head
        }
        guard !gaps.isEmpty else { return increments }
        for gap in gaps where gap.before <= pins[gap.partition] ?? .max {
            let part = parts.lastIndex { $0.claim.partition == gap.partition }
            guard let part else { continue }
            increments[part].addSkipped(gap.count)
        }
        return increments
    }
}

/// Puts a batch together, record by record.
struct BatchBuilder {
    private(set) var batch: Batch
    private var indexes: [TopicPartition: Int] = [:]
    private var last: (partition: TopicPartition, index: Int)?

    init(id: Int, reserving count: Int) {
        batch = Batch(id: id)
        batch.reserve(count)
    }

    mutating func append(
        _ record: ConsumerRecord,
        _ claim: PartitionClaim,
        skipped: Int64,
        isWatched: Bool
    ) {
        let index = index(of: claim, isWatched: isWatched)
        batch.append(record, part: index)
        guard skipped > 0 else { return }
        batch.append(
            OffsetGap(partition: claim.partition, before: record.offset, count: skipped)
        )
    }

    /// Removes the records of a partition whose offsets went backwards.
    mutating func drop(_ partition: TopicPartition) {
        indexes[partition] = nil
        last = nil
        batch = batch.without(partition)
    }

    private mutating func index(of claim: PartitionClaim, isWatched: Bool) -> Int {
        if let last, last.partition == claim.partition { return last.index }
        if let known = indexes[claim.partition] {
            last = (claim.partition, known)
            return known
        }
        batch.append(Batch.Part(claim: claim, isWatched: isWatched))
        let index = batch.parts.count - 1
        indexes[claim.partition] = index
        last = (claim.partition, index)
        return index
    }
}

/// Offsets that hold no record: retention overtook the consumer, or control records and aborted
/// transactions stand there.
struct OffsetGap: Equatable, Sendable {
    let partition: TopicPartition
    /// The offset that follows: a record's, or the end of the log.
    let before: Int64
    let count: Int64

    var first: Int64 { before - count }
}
