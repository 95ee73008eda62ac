import Settings

/// Distinct positions of one input partition, a bit for each.
///
/// First outputs have a bitmap over the offsets. Further outputs, of bodies and receipts with many
/// items, have a word for each 64 offsets and index that occur.
struct PositionSet {
    /// Of further outputs; some 700 MB.
    static let furtherWordsMax = 1 << 24

    private struct Word: Hashable {
        let number: Int
        let index: Int
    }

    private let range: Range<Int64>
    private let furtherWordsMax: Int
    private var firsts: [UInt64] = []
    private var further: [Word: UInt64] = [:]
    private(set) var count: Int64 = 0

    /// - Parameter range: of the offsets that count.
    init(_ range: Range<Int64>, furtherWordsMax: Int = PositionSet.furtherWordsMax) {
        self.range = range
        self.furtherWordsMax = furtherWordsMax
    }

    func contains(offset: Int64) -> Bool { range.contains(offset) }

    /// Adds a position of the range; false where it is known.
    ///
    /// - Throws: `CommandError` where that takes more memory than it may.
    mutating func insert(offset: Int64, index: Int) throws(CommandError) -> Bool {
        let place = Int(offset - range.lowerBound)
        let (word, bit) = (place / 64, UInt64(1) << UInt64(place % 64))
        let isNew =
            index == 0
            ? insertFirst(word, bit) : try insertFurther(Word(number: word, index: index), bit)
        count += isNew ? 1 : 0
        return isNew
    }

    private mutating func insertFirst(_ word: Int, _ bit: UInt64) -> Bool {
        if word >= firsts.count {
            firsts += Array(repeating: 0, count: word + 1 - firsts.count)
        }
        guard firsts[word] & bit == 0 else { return false }
        firsts[word] |= bit
        return true
    }

    private mutating func insertFurther(
        _ word: Word,
        _ bit: UInt64
    ) throws(CommandError) -> Bool {
        let bits = further[word] ?? 0
        guard bits & bit == 0 else { return false }
        guard bits != 0 || further.count < furtherWordsMax else {
            throw CommandError(
                ExitCode.data,
                "the records of one partition brought out more outputs than the exact count can "
                    + "hold in memory: reconcile without --exact"
            )
        }
        further[word] = bits | bit
        return true
    }
}
