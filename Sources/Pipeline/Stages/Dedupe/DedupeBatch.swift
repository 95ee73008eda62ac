import AppStore
import Entitlements
import Records
import Store

/// The IDs that a batch names, with the known revisions of each from the memory and the batch.
///
/// Each ID is looked up once and has an index, so a record costs one look-up per part.
struct DedupeBatch {
    struct Record {
        let inputRange: Range<Int>?
        /// Time at which the record's body was written to the first topic.
        let writtenAt: Timestamp?
        /// The range of the record's parts in the batch's `parts`.
        fileprivate let parts: Range<Int>
        fileprivate let notificationIndex: Int?
        fileprivate let hasUnidentified: Bool
    }

    /// A part of a record, with the index of its ID.
    private struct Part {
        let observed: ObservedPart
        let index: Int
    }

    /// The IDs named so far, in the order of their indexes.
    private(set) var keys: [PartKey] = []
    private var indexes: [PartKey: Int] = [:]
    /// The known revisions of each ID, at its index; most IDs have at most one.
    private var known: [KnownRevisions] = []
    /// The parts of all records, one record after the other.
    private var parts: [Part] = []
    /// The verdicts on the parts of the last decided record.
    private var verdicts: [PartVerdict] = []
    private var decided = 0..<0

    init(recordsExpected: Int) {
        keys.reserveCapacity(recordsExpected)
        indexes.reserveCapacity(recordsExpected)
        known.reserveCapacity(recordsExpected)
        parts.reserveCapacity(recordsExpected)
    }

    /// Adds the IDs that a record names.
    mutating func add(_ observed: ObservationParts, inputRange: Range<Int>? = nil, writtenAt: Timestamp? = nil)
        -> Record
    {
        let first = parts.count
        for part in observed.parts { parts.append(Part(observed: part, index: index(of: part.key))) }
        return Record(
            inputRange: inputRange, writtenAt: writtenAt, parts: first..<parts.count,
            notificationIndex: observed.notification.map { index(of: $0) }, hasUnidentified: observed.hasUnidentified)
    }

    private mutating func index(of key: PartKey) -> Int {
        if let index = indexes[key] { return index }
        let index = keys.count
        indexes[key] = index
        keys.append(key)
        known.append(KnownRevisions())
        return index
    }

    /// Adds the revision of an ID in flight, if the batch names this ID.
    mutating func add(_ mark: DedupeMemory.Mark) {
        switch mark {
        case .part(let part, _): if let index = indexes[part.key] { known[index].add(part) }
        case .notification(let key): if let index = indexes[key] { known[index].isKnown = true }
        }
    }

    /// Adds the remembered revision of the ID at an index; a notification has none.
    mutating func add(_ revision: PartRevision?, at index: Int) {
        if let revision {
            known[index].add(ObservedPart(key: keys[index], revision: revision))
        } else {
            known[index].isKnown = true
        }
    }

    mutating func decide(_ record: Record) -> DedupeDecision {
        decided = record.parts
        verdicts.removeAll(keepingCapacity: true)
        for index in record.parts {
            let part = parts[index]
            verdicts.append(known[part.index].verdict(on: part.observed))
        }
        return DedupeDecision(
            verdicts, isNotificationKnown: record.notificationIndex.map { known[$0].isKnown },
            hasUnidentified: record.hasUnidentified)
    }

    /// Adds the parts of the last decided record, which is forwarded, to the known revisions.
    ///
    /// - Parameter remember: receives each mark to remember of the record.
    mutating func addDecided(_ record: Record, remember: (DedupeMemory.Mark) -> Void) {
        precondition(decided == record.parts, "another record was decided since")
        for (index, verdict) in zip(record.parts, verdicts) where verdict.raisesMemory {
            let part = parts[index]
            remember(.part(part.observed, isNew: !known[part.index].isKnown))
            known[part.index].add(part.observed)
        }
        if let index = record.notificationIndex, !known[index].isKnown {
            known[index].isKnown = true
            remember(.notification(keys[index]))
        }
    }
}

/// The known revisions of one ID.
private struct KnownRevisions {
    /// Whether the ID is known; nothing else is stored for a notification.
    var isKnown = false
    /// The first revision, stored outside of the array because hardly any ID has several.
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
    /// Whether the part is the newest of its ID, so that the memory is raised to its revision.
    fileprivate var raisesMemory: Bool { self == .new || self == .refreshed }
}
