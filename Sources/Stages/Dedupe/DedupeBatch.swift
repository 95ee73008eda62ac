import Entitlements
import Records
import Store

/// One batch in work: the IDs that it names and what is known of each, from the memory and from its
/// own records.
///
/// Each ID is looked up once and has an index, so that a record costs one look-up per part.
struct DedupeBatch {
    struct Record {
        let parts: ObservationParts
        /// When its body was written to the first topic, in UNIX milliseconds.
        let writtenAt: Int64?
        /// The indexes of the IDs of `parts.parts`, in their order.
        fileprivate let indexes: [Int]
        fileprivate let notificationIndex: Int?
    }

    /// The IDs named so far, each at its index.
    private(set) var keys: [PartKey] = []
    private var indexes: [PartKey: Int] = [:]
    private var known: [[PartRevision]] = []
    private var isKnown: [Bool] = []

    init(recordsExpected: Int) {
        keys.reserveCapacity(recordsExpected)
        indexes.reserveCapacity(recordsExpected)
        known.reserveCapacity(recordsExpected)
        isKnown.reserveCapacity(recordsExpected)
    }

    /// Adds the IDs that a record names.
    mutating func add(_ parts: ObservationParts, writtenAt: Int64? = nil) -> Record {
        Record(
            parts: parts,
            writtenAt: writtenAt,
            indexes: parts.parts.map { index(of: $0.key) },
            notificationIndex: parts.notification.map { index(of: $0) }
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

    /// Adds what is remembered or in flight of the ID at an index.
    mutating func add(_ revision: PartRevision?, at index: Int) {
        isKnown[index] = true
        if let revision {
            known[index].append(revision)
        }
    }

    /// What becomes of a record, and the verdict on each of its parts.
    struct Decided {
        let decision: DedupeDecision
        fileprivate let verdicts: [PartVerdict]
    }

    /// Decides on one record by all that is known.
    func decide(_ record: Record) -> Decided {
        let verdicts = zip(record.parts.parts, record.indexes).map { part, index in
            part.verdict(against: known[index])
        }
        let decision = DedupeDecision(
            verdicts,
            isNotificationKnown: record.notificationIndex.map { isKnown[$0] },
            hasUnidentified: record.parts.hasUnidentified
        )
        return Decided(decision: decision, verdicts: verdicts)
    }

    /// Adds a record that goes on to what is known, and returns what is to be remembered of it.
    ///
    /// A record that does not go on leaves no trace: of a conflict none of the parts is believed.
    mutating func add(_ record: Record, _ decided: Decided) -> [DedupeMemory.Mark] {
        guard decided.decision.goesOn else { return [] }
        let parts = record.parts.parts
        var marks: [DedupeMemory.Mark] = []
        for (index, verdict) in decided.verdicts.enumerated() where verdict.raisesMemory {
            add(parts[index].revision, at: record.indexes[index])
            marks.append(DedupeMemory.Mark(key: parts[index].key, revision: parts[index].revision))
        }
        if let index = record.notificationIndex, !isKnown[index] {
            add(nil, at: index)
            marks.append(DedupeMemory.Mark(key: keys[index], revision: nil))
        }
        return marks
    }
}

extension PartVerdict {
    /// Whether the part is the newest of its ID, so that the memory rises to it.
    fileprivate var raisesMemory: Bool {
        self == .new || self == .refreshed
    }
}
