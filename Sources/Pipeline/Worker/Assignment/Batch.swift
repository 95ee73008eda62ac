import Kafka
import OpenSSL

/// Records that go through the stage together, and the claims under which they were read.
struct Batch: Sendable {
    /// The records of one partition in it.
    struct Part: Sendable {
        let claim: PartitionClaim
        /// Only looked at: the partition was pinned before, and is read again later.
        let isWatched: Bool
        /// Offsets without a record, each range before one of the batch's records.
        var gaps: [OffsetGap] = []
        /// Nothing of the partition from this offset on counts, because it is held.
        var pinnedAt: Int64?
        /// The head of the chain of dead letters, once those of the batch are written.
        var chainHead: SHA256Digest?
    }

    let id: Int
    var records: [ConsumerRecord] = []
    /// The parts of the batch, one for each partition.
    var parts: [Part] = []

    var isEmpty: Bool { records.isEmpty }
    var gaps: [OffsetGap] { parts.flatMap(\.gaps) }

    /// The index of a partition's part; it is made if it is missing.
    mutating func part(of claim: PartitionClaim, isWatched: Bool) -> Int {
        if let index = parts.firstIndex(where: { $0.claim == claim }) { return index }
        parts.append(Part(claim: claim, isWatched: isWatched))
        return parts.count - 1
    }

    /// Removes the records of a partition whose offsets went backwards.
    mutating func drop(_ partition: TopicPartition) {
        records.removeAll { $0.topicPartition == partition }
        parts.removeAll { $0.claim.partition == partition }
    }

    /// Keeps the records before an offset of each part.
    mutating func keep(before end: (PartitionClaim) -> Int64) {
        let ends = parts.reduce(into: [TopicPartition: Int64]()) { ends, part in
            let end = end(part.claim)
            if end < .max { ends[part.claim.partition] = end }
        }
        guard !ends.isEmpty else { return }
        records.removeAll { $0.offset >= ends[$0.topicPartition] ?? .max }
    }

    /// The offset behind the last record of each partition.
    var ends: [TopicPartition: Int64] { records.reduce(into: [:]) { $0[$1.topicPartition] = $1.offset + 1 } }
}

/// Offsets that hold no record: retention overtook the consumer, or control records and aborted
/// transactions stand there.
struct OffsetGap: Equatable, Sendable {
    let partition: TopicPartition
    /// The offset that follows: a record's, or the end of the log.
    let before: Int64
    let count: Int64
    /// The offsets that retention has removed; the log still holds the others.
    let removed: Int64

    var first: Int64 { before - count }

    /// - Parameter low: the log's first offset, asked for after the gap was met; nil if the broker
    ///   did not answer, and all may have been removed.
    init(_ partition: TopicPartition, _ offsets: Range<Int64>, low: Int64?) {
        self.partition = partition
        before = offsets.upperBound
        count = offsets.upperBound - offsets.lowerBound
        let end = min(max(low ?? .max, offsets.lowerBound), offsets.upperBound)
        removed = end - offsets.lowerBound
    }
}
