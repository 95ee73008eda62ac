import Kafka

/// What this worker has forwarded and not yet marked in PostgreSQL.
///
/// What is known to be too large to go on is not in it. Where a broker refuses a record against all
/// that it said before, its dead letter holds what the duplicates judged meanwhile said as well.
///
/// Batches overlap, so each is judged against the memory in PostgreSQL and against this. An entry
/// belongs to the record that brought it. It leaves when that record is marked, when its partition
/// is given up, and when the record is read again, for then it was not forwarded after all: a
/// record must never be a duplicate of itself. The batches in hand bound its size.
struct InFlight<Key: Hashable, Value> {
    private struct Entry {
        let partition: TopicPartition
        let offset: Int64
        let value: Value
    }

    private struct Place {
        let offset: Int64
        let key: Key
    }

    private var entries: [Key: [Entry]] = [:]
    /// By ascending offset, as a partition is read in order.
    private var places: [TopicPartition: [Place]] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// What records in hand say of the key, in the order in which they were judged.
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
        let last = places[partition]?.last?.offset ?? .min
        precondition(last <= offset, "a partition goes back without being forgotten")
        places[partition, default: []].append(Place(offset: offset, key: key))
    }

    /// The entries that the record brought.
    func brought(
        by partition: TopicPartition,
        at offset: Int64
    ) -> [(key: Key, value: Value)] {
        guard let list = places[partition] else { return [] }
        return list[range(of: offset...offset, in: list)].flatMap { place in
            (entries[place.key] ?? [])
                .filter { $0.offset == offset && $0.partition == partition }
                .map { (place.key, $0.value) }
        }
    }

    /// Forgets what the partition's records in the range brought.
    mutating func forget(_ partition: TopicPartition, offsets: ClosedRange<Int64>) {
        guard var list = places.removeValue(forKey: partition) else { return }
        let range = range(of: offsets, in: list)
        for place in list[range] {
            drop(place, of: partition)
        }
        list.removeSubrange(range)
        if !list.isEmpty {
            places[partition] = list
        }
    }

    private mutating func drop(_ place: Place, of partition: TopicPartition) {
        guard var found = entries.removeValue(forKey: place.key) else { return }
        found.removeAll { $0.offset == place.offset && $0.partition == partition }
        if !found.isEmpty {
            entries[place.key] = found
        }
    }

    private func range(of offsets: ClosedRange<Int64>, in list: [Place]) -> Range<Int> {
        let start = Self.partitionPoint(of: list) { $0.offset >= offsets.lowerBound }
        let end = Self.partitionPoint(of: list) { $0.offset > offsets.upperBound }
        return start..<end
    }

    /// The first index from which on the claim holds, in a list where it stays true.
    private static func partitionPoint(of list: [Place], _ claim: (Place) -> Bool) -> Int {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if claim(list[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
