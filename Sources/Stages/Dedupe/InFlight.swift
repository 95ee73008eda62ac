import Kafka

/// What this worker has forwarded and not yet marked in PostgreSQL.
///
/// What is known to be too large to go on is not in it. Where a broker refuses a record against all
/// that it reported before, its dead letter stands for the duplicates that were dropped too.
///
/// Batches overlap, so each is compared with the memory in PostgreSQL and with this. An entry
/// belongs to the record that brought it. It leaves when that record is marked, when its partition
/// is given up, and when the record is read again, for then it was not forwarded after all: a
/// record must never be a duplicate of itself. The batches in hand bound its size, so that it is
/// read whole for each batch and needs no index by key.
struct InFlight<Value: Sendable> {
    /// Something that one record has brought.
    struct Arrival: Sendable {
        let offset: Int64
        let value: Value
    }

    /// By ascending offset, as a partition is read in order; no list is empty.
    private var arrivals: [TopicPartition: [Arrival]] = [:]

    var isEmpty: Bool { arrivals.isEmpty }

    /// All arrivals; those of one partition in the order in which they were processed.
    var all: some Sequence<Arrival> { arrivals.values.lazy.joined() }

    /// Adds what records of one partition have brought.
    ///
    /// - Precondition: in order, and not below the last offset that was added in the partition;
    ///   `forget` comes first where a partition is read again.
    mutating func append(_ brought: [Arrival], from partition: TopicPartition) {
        guard !brought.isEmpty else { return }
        var list = arrivals.removeValue(forKey: partition) ?? []
        precondition(
            list.last.map { $0.offset <= brought[0].offset } ?? true,
            "a partition goes back without being forgotten"
        )
        list.append(contentsOf: brought)
        arrivals[partition] = list
    }

    /// What the partition's records in the range have brought, in their order.
    func brought(
        by partition: TopicPartition,
        offsets: ClosedRange<Int64>
    ) -> ArraySlice<Arrival> {
        guard let list = arrivals[partition] else { return [] }
        return list[range(of: offsets, in: list)]
    }

    /// Forgets what the partition's records in the range brought.
    mutating func forget(_ partition: TopicPartition, offsets: ClosedRange<Int64>) {
        guard var list = arrivals.removeValue(forKey: partition) else { return }
        list.removeSubrange(range(of: offsets, in: list))
        if !list.isEmpty {
            arrivals[partition] = list
        }
    }

    private func range(of offsets: ClosedRange<Int64>, in list: [Arrival]) -> Range<Int> {
        let start = Self.partitionPoint(of: list) { $0.offset >= offsets.lowerBound }
        let end = Self.partitionPoint(of: list) { $0.offset > offsets.upperBound }
        return start..<end
    }

    /// The first index from which on the claim holds, in a list where it stays true.
    private static func partitionPoint(of list: [Arrival], _ claim: (Arrival) -> Bool) -> Int {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if claim(list[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
