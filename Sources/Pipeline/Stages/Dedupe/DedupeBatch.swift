import AppStore
import Entitlements
import Records
import Store

/// A batch in work: the IDs that it names, and what the memory and its own records know of each.
///
/// Each ID is looked up once and has an index, so that a record costs one look-up per part.
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

    /// The IDs named so far, each at its index.
    private(set) var keys: [PartKey] = []
    private var indexes: [PartKey: Int] = [:]
    /// The known revisions of the ID at the same index; most IDs have one at most.
    private var known: [KnownRevisions] = []
    /// The parts of all records, one record after the other.
    private var parts: [Part] = []
    /// The verdicts on the parts of the record that was decided last, and the range of these parts.
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

    /// Adds an ID that is in flight, if the batch names it.
    mutating func add(_ mark: DedupeMemory.Mark) {
        switch mark {
        case .part(let part, _): if let index = indexes[part.key] { known[index].add(part) }
        case .notification(let key): if let index = indexes[key] { known[index].isKnown = true }
        }
    }

    /// Adds what is remembered of the ID at an index; a notification has no revision.
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

    /// Adds the record that was decided last, which is forwarded, to the known revisions.
    ///
    /// - Parameter remember: receives what is to be remembered of it.
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
    /// Whether the ID is known; a notification has no more than this.
    var isKnown = false
    /// Stored apart from the others, because hardly any ID has several.
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
    fileprivate var raisesMemory: Bool { self == .new || self == .refreshed }
}
