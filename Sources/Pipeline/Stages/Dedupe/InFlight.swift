import Kafka

/// The contents that this worker has forwarded and not yet marked in PostgreSQL.
///
/// Records known to be too large to forward are not in it. If a broker refuses a record against its
/// own reported limits, that record's dead letter also stands for the duplicates that were dropped.
///
/// Batches overlap, so each is compared with the memory in PostgreSQL and with this. An entry
/// belongs to the record that brought it. It leaves when that record is marked, when its partition
/// is revoked, and when the record is read again, because then it was not forwarded: a record must
/// never be a duplicate of itself. The batches in flight bound its size, so each batch reads all of
/// it and no index by key is needed.
struct InFlight<Value: Sendable> {
    /// A value that one record has brought.
    struct Arrival: Sendable {
        let offset: Int64
        let value: Value
    }

    /// Arrivals by ascending offset, as a partition is read in order; no list is empty.
    private var arrivals: [TopicPartition: [Arrival]] = [:]

    var isEmpty: Bool { arrivals.isEmpty }

    /// All arrivals; those of one partition in the order in which they were processed.
    var all: some Sequence<Arrival> { arrivals.values.lazy.joined() }

    /// Adds what a record of the partition has brought.
    ///
    /// - Precondition: the offset is not below the last one added in the partition; `forget` comes
    ///   first if a partition is read again.
    mutating func append(_ arrival: Arrival, from partition: TopicPartition) {
        precondition(
            arrivals[partition]?.last.map { $0.offset <= arrival.offset } ?? true,
            "a partition goes back without being forgotten")
        arrivals[partition, default: []].append(arrival)
    }

    /// The arrivals of the partition's records in the range, by ascending offset.
    func brought(by partition: TopicPartition, offsets: ClosedRange<Int64>) -> ArraySlice<Arrival> {
        guard let list = arrivals[partition] else { return [] }
        return list[range(of: offsets, in: list)]
    }

    /// Forgets what the partition's records in the range brought.
    mutating func forget(_ partition: TopicPartition, offsets: ClosedRange<Int64>) {
        guard var list = arrivals.removeValue(forKey: partition) else { return }
        list.removeSubrange(range(of: offsets, in: list))
        if !list.isEmpty { arrivals[partition] = list }
    }

    private func range(of offsets: ClosedRange<Int64>, in list: [Arrival]) -> Range<Int> {
        let start = Self.partitionPoint(of: list) { $0.offset >= offsets.lowerBound }
        let end = Self.partitionPoint(of: list) { $0.offset > offsets.upperBound }
        return start..<end
    }

    /// The first index from which the claim holds, in a list where it stays true.
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
