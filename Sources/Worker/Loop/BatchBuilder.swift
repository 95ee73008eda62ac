import Kafka

/// Puts a batch together, record by record.
struct BatchBuilder {
    private(set) var batch: Batch
    private var places: [TopicPartition: Int] = [:]
    private var last: (partition: TopicPartition, place: Int)?

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
        let place = place(of: claim, isWatched: isWatched)
        batch.append(record, part: place)
        guard skipped > 0 else { return }
        batch.append(
            OffsetGap(partition: claim.partition, before: record.offset, count: skipped)
        )
    }

    /// Takes out what was taken of a partition whose log turned out to have gone back.
    mutating func drop(_ partition: TopicPartition) {
        places[partition] = nil
        last = nil
        batch = batch.without(partition)
    }

    private mutating func place(of claim: PartitionClaim, isWatched: Bool) -> Int {
        if let last, last.partition == claim.partition { return last.place }
        if let known = places[claim.partition] {
            last = (claim.partition, known)
            return known
        }
        batch.append(Batch.Part(claim: claim, isWatched: isWatched))
        let place = batch.parts.count - 1
        places[claim.partition] = place
        last = (claim.partition, place)
        return place
    }
}
