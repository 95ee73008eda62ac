import Entitlements
import Records
import Store

/// One batch under judgement: the IDs it names, what is known of each, and what it says itself.
///
/// Each ID is looked up once and has a place in it, so that a record costs one look-up per part.
struct DedupeBatch {
    struct Record {
        let parts: ObservationParts
        /// The places of `parts.parts`, in their order.
        fileprivate let places: [Int]
        fileprivate let notificationPlace: Int?
    }

    /// The IDs named so far, each at its place.
    private(set) var keys: [PartKey] = []
    private var places: [PartKey: Int] = [:]
    private var known: [[PartRevision]] = []
    private var isKnown: [Bool] = []

    init(recordsExpected: Int) {
        keys.reserveCapacity(recordsExpected)
        places.reserveCapacity(recordsExpected)
        known.reserveCapacity(recordsExpected)
        isKnown.reserveCapacity(recordsExpected)
    }

    /// Takes up the IDs that a record names, and gives it back ready to be judged.
    mutating func add(_ parts: ObservationParts) -> Record {
        Record(
            parts: parts,
            places: parts.parts.map { place(of: $0.key) },
            notificationPlace: parts.notification.map { place(of: $0) }
        )
    }

    private mutating func place(of key: PartKey) -> Int {
        if let place = places[key] { return place }
        let place = keys.count
        places[key] = place
        keys.append(key)
        known.append([])
        isKnown.append(false)
        return place
    }

    /// Takes up what is remembered or in hand of the ID at a place.
    mutating func learn(_ revision: PartRevision?, at place: Int) {
        isKnown[place] = true
        if let revision {
            known[place].append(revision)
        }
    }

    /// What becomes of a record, and why: a verdict on each of its parts.
    struct Judgement {
        let decision: DedupeDecision
        fileprivate let verdicts: [PartVerdict]
    }

    /// Judges one record against all that is known.
    func judge(_ record: Record) -> Judgement {
        let verdicts = zip(record.parts.parts, record.places).map { part, place in
            part.verdict(against: known[place])
        }
        let decision = DedupeDecision(
            verdicts,
            isNotificationKnown: record.notificationPlace.map { isKnown[$0] },
            hasUnidentified: record.parts.hasUnidentified
        )
        return Judgement(decision: decision, verdicts: verdicts)
    }

    /// Lets the next records know one that goes on, and returns what is to be remembered of it.
    ///
    /// A record that does not go on leaves no trace: of a conflict none of the parts is believed.
    mutating func takeUp(_ record: Record, _ judgement: Judgement) -> [DedupeMemory.Mark] {
        guard judgement.decision.goesOn else { return [] }
        let parts = record.parts.parts
        var marks: [DedupeMemory.Mark] = []
        for (index, verdict) in judgement.verdicts.enumerated() where verdict.raisesMemory {
            learn(parts[index].revision, at: record.places[index])
            marks.append(DedupeMemory.Mark(key: parts[index].key, revision: parts[index].revision))
        }
        if let place = record.notificationPlace, !isKnown[place] {
            learn(nil, at: place)
            marks.append(DedupeMemory.Mark(key: keys[place], revision: nil))
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
