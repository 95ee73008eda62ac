import Kafka

/// What this worker has forwarded and not yet marked in PostgreSQL.
///
/// What is known to be too large to go on is not in it. Where a broker refuses a record against all
/// that it reported before, its dead letter stands for the duplicates that were dropped too.
///
/// Batches overlap, so each is compared with the memory in PostgreSQL and with this. An entry
/// belongs to the record that brought it. It leaves when that record is marked, when its partition
/// is given up, and when the record is read again, for then it was not forwarded after all: a
/// record must never be a duplicate of itself. The batches in hand bound its size.
struct InFlight<Key: Hashable, Value> {
    private struct Entry {
        let partition: TopicPartition
        let offset: Int64
        let value: Value
    }

    /// What one record has brought of one key.
    struct Arrival {
        let offset: Int64
        let key: Key
        let value: Value
    }

    private var entries: [Key: [Entry]] = [:]
    /// By ascending offset, as a partition is read in order.
    private var arrivals: [TopicPartition: [Arrival]] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// The values of the key from records in flight, in the order in which they were processed.
    func values(of key: Key) -> [Value] {
        entries[key]?.map(\.value) ?? []
    }

    /// - Precondition: not below the last offset that was added in the partition; `forget` comes
    ///   first where a partition is read again.
    mutating func append(
        _ value: Value,
        of key: Key,
        from partition: TopicPartition,
        at offset: Int64
    ) {
        entries[key, default: []].append(
            Entry(partition: partition, offset: offset, value: value)
        )
        let last = arrivals[partition]?.last?.offset ?? .min
        precondition(last <= offset, "a partition goes back without being forgotten")
        arrivals[partition, default: []].append(Arrival(offset: offset, key: key, value: value))
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
        let range = range(of: offsets, in: list)
        for arrival in list[range] {
            drop(arrival, of: partition)
        }
        list.removeSubrange(range)
        if !list.isEmpty {
            arrivals[partition] = list
        }
    }

    private mutating func drop(_ arrival: Arrival, of partition: TopicPartition) {
        guard var found = entries.removeValue(forKey: arrival.key) else { return }
        found.removeAll { $0.offset == arrival.offset && $0.partition == partition }
        if !found.isEmpty {
            entries[arrival.key] = found
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
