import Kafka

/// The contents that this worker has forwarded but not yet marked in PostgreSQL.
///
/// Records known to be too large to forward are excluded. If a broker refuses a record within its
/// reported limits, duplicates of the record were already dropped; the record's dead letter also
/// represents them.
///
/// Batches overlap, so each batch is compared with the memory in PostgreSQL and with these
/// contents. An entry belongs to the record that added it. The entry is removed when that record is
/// marked, when its partition is revoked, or when the record is read again. A record that is read
/// again was not forwarded, and must not be a duplicate of itself. The batches in flight bound the
/// number of entries, so each batch reads all of them without an index by key.
struct InFlight<Value: Sendable> {
    /// A value that one record has added.
    struct Arrival: Sendable {
        let offset: Int64
        let value: Value
    }

    /// Arrivals by ascending offset; no list is empty.
    private var arrivals: [TopicPartition: [Arrival]] = [:]

    var isEmpty: Bool { arrivals.isEmpty }

    /// All arrivals, in the order of processing within each partition.
    var all: some Sequence<Arrival> { arrivals.values.lazy.joined() }

    /// Adds a record's arrival.
    ///
    /// - Precondition: the offset is not below the last added offset of the partition; if a
    ///   partition is read again, call `forget` first.
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

    /// Removes the arrivals of the partition's records in the range.
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

    /// The first index at which the claim is true; it must be true for all later arrivals.
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
