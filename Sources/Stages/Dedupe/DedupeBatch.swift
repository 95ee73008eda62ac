import Entitlements
import Records
import Store

/// One batch in work: the IDs that it names and what is known of each, from the memory and from its
/// own records.
///
/// Each ID is looked up once and has an index, so that a record costs one look-up per part.
struct DedupeBatch {
    /// One record of the batch.
    struct Record {
        /// That of its observation.
        let inputRange: Range<Int>?
        /// When its body was written to the first topic, in UNIX milliseconds.
        let writtenAt: Int64?
        /// Where its parts stand among those of the batch.
        fileprivate let parts: Range<Int>
        fileprivate let notificationIndex: Int?
        fileprivate let hasUnidentified: Bool
    }

    /// The IDs named so far, each at its index.
    private(set) var keys: [PartKey] = []
    private var indexes: [PartKey: Int] = [:]
    private var known: [[PartRevision]] = []
    private var isKnown: [Bool] = []
    /// The parts of all records, one record after the other, each with the index of its ID.
    private var parts: [(part: ObservedPart, index: Int)] = []
    /// Of the record that was decided last, one for each part, and where these stand.
    private var verdicts: [PartVerdict] = []
    private var decided = 0..<0

    init(recordsExpected: Int) {
        keys.reserveCapacity(recordsExpected)
        indexes.reserveCapacity(recordsExpected)
        known.reserveCapacity(recordsExpected)
        isKnown.reserveCapacity(recordsExpected)
        parts.reserveCapacity(recordsExpected)
    }

    /// Adds the IDs that a record names.
    mutating func add(
        _ observed: ObservationParts,
        inputRange: Range<Int>? = nil,
        writtenAt: Int64? = nil
    ) -> Record {
        let first = parts.count
        for part in observed.parts {
            parts.append((part, index(of: part.key)))
        }
        return Record(
            inputRange: inputRange,
            writtenAt: writtenAt,
            parts: first..<parts.count,
            notificationIndex: observed.notification.map { index(of: $0) },
            hasUnidentified: observed.hasUnidentified
        )
    }

    private mutating func index(of key: PartKey) -> Int {
        if let index = indexes[key] { return index }
        let index = keys.count
        indexes[key] = index
        keys.append(key)
        known.append([])
        isKnown.append(false)
        return index
    }

    /// Adds what is in flight of an ID, where the batch names it.
    mutating func add(_ revision: PartRevision?, of key: PartKey) {
        if let index = indexes[key] { add(revision, at: index) }
    }

    /// Adds what is remembered of the ID at an index.
    mutating func add(_ revision: PartRevision?, at index: Int) {
        isKnown[index] = true
        if let revision {
            known[index].append(revision)
        }
    }

    /// Decides on one record by all that is known.
    mutating func decide(_ record: Record) -> DedupeDecision {
        decided = record.parts
        verdicts.removeAll(keepingCapacity: true)
        for (part, index) in parts[record.parts] {
            verdicts.append(part.verdict(against: known[index]))
        }
        return DedupeDecision(
            verdicts,
            isNotificationKnown: record.notificationIndex.map { isKnown[$0] },
            hasUnidentified: record.hasUnidentified
        )
    }

    /// Adds the record that was decided last, and goes on, to what is known.
    ///
    /// - Parameter remember: gets what is to be remembered of it; of a notification no revision.
    mutating func addDecided(
        _ record: Record,
        remember: (PartKey, PartRevision?) -> Void
    ) {
        precondition(decided == record.parts, "another record was decided since")
        for (place, verdict) in zip(record.parts, verdicts) where verdict.raisesMemory {
            let (part, index) = parts[place]
            add(part.revision, at: index)
            remember(part.key, part.revision)
        }
        if let index = record.notificationIndex, !isKnown[index] {
            add(nil, at: index)
            remember(keys[index], nil)
        }
    }
}

extension PartVerdict {
    /// Whether the part is the newest of its ID, so that the memory rises to it.
    fileprivate var raisesMemory: Bool {
        self == .new || self == .refreshed
    }
}
