import AppStore
import OpenSSL
import Records
package import Store

/// Folds the copies of dead letters by ID: the first copy that matches its link counts.
///
/// The fold holds a few bytes for each ID and never a letter. Beyond `idsMax` IDs each copy counts
/// as a letter, and `isComplete` is false.
package struct DeadLetterFold<Part: Sendable>: Sendable {
    package enum Outcome {
        /// The copy counts for its ID, and replaces the part of a former copy, if any.
        case counts(replacing: Part?)
        /// Another copy of the letter counts.
        case stale
    }

    private struct Entry {
        var rank: DeadLetterRow.Rank
        var part: Part
    }

    private let idsMax: Int
    private var entries: [UInt128: Entry] = [:]
    package private(set) var repetitions = 0
    package private(set) var isComplete = true

    package init(idsMax: Int = 2_000_000) { self.idsMax = idsMax }

    /// Adds one letter; letters may come in any order.
    ///
    /// - Parameter part: the letter's contribution to a result, returned when another copy replaces it.
    package mutating func add(_ letter: DeadLetterRow, _ part: Part) -> Outcome {
        let key = Self.key(letter.id)
        let entry = Entry(rank: letter.rank, part: part)
        guard let former = entries[key] else {
            if entries.count < idsMax { entries[key] = entry } else { isComplete = false }
            return .counts(replacing: nil)
        }
        repetitions += 1
        guard entry.rank < former.rank else { return .stale }
        entries[key] = entry
        return .counts(replacing: former.part)
    }

    /// The part of the copy that counts for an ID.
    ///
    /// `nil` for an unknown ID.
    package func part(of id: String) -> Part? { entries[Self.key(id)]?.part }

    /// The counts of a reading, as a note beside its result.
    func notes(_ summary: DeadLetterTopic.Summary) -> String {
        var text = "\(summary.records) records read"
        if repetitions > 0 { text += ", \(repetitions) repetitions folded" }
        if summary.foreign > 0 { text += ", \(summary.foreign) records that are no dead letters" }
        if !isComplete { text += "; too many to find all repetitions, so some letters may count twice: narrow --since" }
        return text
    }

    /// The 32 hexadecimal digits of an ID as a number; any other text is hashed first.
    private static func key(_ id: String) -> UInt128 {
        if id.utf8.count == DeadLetterID.length, let number = UInt128(id, radix: 16) { return number }
        let digits = SHA256.digest(Array(id.utf8)).hex.prefix(DeadLetterID.length)
        return UInt128(digits, radix: 16) ?? 0
    }
}

/// The newest of many dead letters; holds at most about twice the requested number.
struct NewestLetters {
    private let limit: Int
    private var letters: [String: DeadLetterRow] = [:]

    /// Number of letters inserted and not removed, whether they are still held or not.
    private(set) var count = 0

    init(limit: Int) { self.limit = limit }

    mutating func insert(_ letter: DeadLetterRow) {
        count += 1
        letters[letter.id] = letter
        if letters.count >= 2 * limit + 16 {
            letters = Dictionary(sorted.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        }
    }

    mutating func remove(_ id: String) {
        count -= 1
        letters[id] = nil
    }

    /// The requested letters, the newest first.
    var sorted: [DeadLetterRow] {
        let ordered = letters.values.sorted { $0.failedAt == $1.failedAt ? $0.id < $1.id : $0.failedAt > $1.failedAt }
        return Array(ordered.prefix(limit))
    }
}
