import AppStore
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
        /// When its body was written to the first topic.
        let writtenAt: Timestamp?
        /// Where its parts stand among those of the batch.
        fileprivate let parts: Range<Int>
        fileprivate let notificationIndex: Int?
        fileprivate let hasUnidentified: Bool
    }

    /// A part of a record, with the index of its ID.
    private struct Part {
        let observed: ObservedPart
        let index: Int
    }

    /// The IDs named so far, each at its index.
    private(set) var keys: [PartKey] = []
    private var indexes: [PartKey: Int] = [:]
    /// What is known of the ID at the same index; most have one revision at most.
    private var known: [KnownRevisions] = []
    /// The parts of all records, one record after the other.
    private var parts: [Part] = []
    /// Of the record that was decided last, one for each part, and where these stand.
    private var verdicts: [PartVerdict] = []
    private var decided = 0..<0

    init(recordsExpected: Int) {
        keys.reserveCapacity(recordsExpected)
        indexes.reserveCapacity(recordsExpected)
        known.reserveCapacity(recordsExpected)
        parts.reserveCapacity(recordsExpected)
    }

    /// Adds the IDs that a record names.
    mutating func add(
        _ observed: ObservationParts,
        inputRange: Range<Int>? = nil,
        writtenAt: Timestamp? = nil
    ) -> Record {
        let first = parts.count
        for part in observed.parts {
            parts.append(Part(observed: part, index: index(of: part.key)))
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
        known.append(KnownRevisions())
        return index
    }

    /// Adds what is in flight of an ID, where the batch names it.
    mutating func add(_ mark: DedupeMemory.Mark) {
        switch mark {
        case .part(let part):
            if let index = indexes[part.key] { known[index].add(part) }
        case .notification(let key):
            if let index = indexes[key] { known[index].isKnown = true }
        }
    }

    /// Adds what is remembered of the ID at an index; of a notification no revision.
    mutating func add(_ revision: PartRevision?, at index: Int) {
        if let revision {
            known[index].add(ObservedPart(key: keys[index], revision: revision))
        } else {
            known[index].isKnown = true
        }
    }

    /// Decides on one record by all that is known.
    mutating func decide(_ record: Record) -> DedupeDecision {
        decided = record.parts
        verdicts.removeAll(keepingCapacity: true)
        for index in record.parts {
            let part = parts[index]
            verdicts.append(known[part.index].verdict(on: part.observed))
        }
        return DedupeDecision(
            verdicts,
            isNotificationKnown: record.notificationIndex.map { known[$0].isKnown },
            hasUnidentified: record.hasUnidentified
        )
    }

    /// Adds the record that was decided last, and goes on, to what is known.
    ///
    /// - Parameter remember: gets what is to be remembered of it.
    mutating func addDecided(_ record: Record, remember: (DedupeMemory.Mark) -> Void) {
        precondition(decided == record.parts, "another record was decided since")
        for (index, verdict) in zip(record.parts, verdicts) where verdict.raisesMemory {
            let part = parts[index]
            known[part.index].add(part.observed)
            remember(.part(part.observed))
        }
        if let index = record.notificationIndex, !known[index].isKnown {
            known[index].isKnown = true
            remember(.notification(keys[index]))
        }
    }
}

/// What is known of one ID.
private struct KnownRevisions {
    /// Whether anything is; all that there is to know of a notification.
    var isKnown = false
    /// Apart from the others, because hardly any ID has several.
    private var first: ObservedPart?
    private var others: [ObservedPart] = []

    mutating func add(_ part: ObservedPart) {
        isKnown = true
        if first == nil { first = part } else { others.append(part) }
    }

    func verdict(on part: ObservedPart) -> PartVerdict {
        guard let first else { return part.verdict(against: []) }
        return part.verdict(against: [first.revision] + others.map(\.revision))
    }
}

extension PartVerdict {
    /// Whether the part is the newest of its ID, so that the memory rises to it.
    fileprivate var raisesMemory: Bool {
        self == .new || self == .refreshed
    }
}
