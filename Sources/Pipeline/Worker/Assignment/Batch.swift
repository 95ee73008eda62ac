import Kafka
import OpenSSL

/// Records that the stage processes together, and the claims under which they were read.
struct Batch: Sendable {
    /// The batch's records of one partition.
    struct Part: Sendable {
        let claim: PartitionClaim
        /// Whether the part is only inspected: the partition was already pinned, and is read again later.
        let isWatched: Bool
        /// Ranges of offsets without a record, each before one of the batch's records.
        var gaps: [OffsetGap] = []
        /// The first offset of the partition that must not be settled, because it is held.
        var pinnedAt: Int64?
        /// The head of the chain after the batch's dead letters are written.
        var chainHead: SHA256Digest?
    }

    let id: Int
    var records: [ConsumerRecord] = []
    /// The parts of the batch, one for each partition.
    var parts: [Part] = []

    var isEmpty: Bool { records.isEmpty }
    var gaps: [OffsetGap] { parts.flatMap(\.gaps) }

    /// Returns the index of a partition's part, which is created if it is missing.
    mutating func part(of claim: PartitionClaim, isWatched: Bool) -> Int {
        if let index = parts.firstIndex(where: { $0.claim == claim }) { return index }
        parts.append(Part(claim: claim, isWatched: isWatched))
        return parts.count - 1
    }

    /// Removes the records of a partition whose offsets restarted.
    mutating func drop(_ partition: TopicPartition) {
        records.removeAll { $0.topicPartition == partition }
        parts.removeAll { $0.claim.partition == partition }
    }

    /// Keeps only the records before the given offset of each part.
    mutating func keep(before end: (PartitionClaim) -> Int64) {
        let ends = parts.reduce(into: [TopicPartition: Int64]()) { ends, part in
            let end = end(part.claim)
            if end < .max { ends[part.claim.partition] = end }
        }
        guard !ends.isEmpty else { return }
        records.removeAll { $0.offset >= ends[$0.topicPartition] ?? .max }
    }

    /// The offset after the last record of each partition.
    var ends: [TopicPartition: Int64] { records.reduce(into: [:]) { $0[$1.topicPartition] = $1.offset + 1 } }
}

/// A range of offsets without a record: retention overtook the consumer, or the range has control records and aborted
/// transactions.
struct OffsetGap: Equatable, Sendable {
    let partition: TopicPartition
    /// The next offset: of a record, or of the log's end.
    let before: Int64
    let count: Int64
    /// Number of offsets that retention has removed; the log still contains the others.
    let removed: Int64

    var first: Int64 { before - count }

    /// - Parameter low: the log's first offset, requested after the gap was found; `nil` if the broker did not answer,
    ///   so that all offsets may have been removed.
    init(_ partition: TopicPartition, _ offsets: Range<Int64>, low: Int64?) {
        self.partition = partition
        before = offsets.upperBound
        count = offsets.upperBound - offsets.lowerBound
        let end = min(max(low ?? .max, offsets.lowerBound), offsets.upperBound)
        removed = end - offsets.lowerBound
    }
}
