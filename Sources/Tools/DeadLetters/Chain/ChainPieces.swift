import OpenSSL

/// A letter, or consecutive letters of a chain.
///
/// Each letter of a piece names the one before it, has a higher offset and a later source. Several
/// letters in one piece have no problems and no known copies.
struct ChainPiece: Sendable, Equatable {
    let first: ChainLetter
    private(set) var last: ChainLetter
    private(set) var letters = 1
    /// Whether the piece must stay a single letter.
    let isApart: Bool

    init(_ letter: ChainLetter, isApart: Bool = false) {
        first = letter
        last = letter
        self.isApart = isApart
    }

    var isFolded: Bool { letters > 1 }
    var digest: SHA256Digest { last.digest }

    /// Adds the letter if it continues the piece.
    ///
    /// - Parameter letter: a letter whose source is later than the piece's.
    mutating func extend(by letter: ChainLetter) -> Bool {
        guard !isApart, letter.previous == last.digest, letter.offset > last.offset else { return false }
        last = letter
        letters += 1
        return true
    }
}

/// The letters of one chain, folded into pieces as they are read.
///
/// The size in memory grows with gaps, forks and copies, not with letters.
struct ChainPieces: Sendable {
    /// The letters of one partition of the dead-letter topic, in their order.
    private struct Lane {
        var pieces: [ChainPiece] = []
        /// The newest letters, not folded yet: letters that are written again after a crash are among them.
        var recent: [ChainLetter] = []
        /// The source offset up to which a worker reads its sources again.
        var repeatsTo = Int64.min
        var repeatsMax = 0
    }

    /// Maximum letters of a partition that stay unfolded.
    ///
    /// `nil` for no maximum.
    private let recentMax: Int?
    private var lanes: [Int32: Lane] = [:]
    /// Letters on which a verdict depends, found while the topic is read.
    private var noticed = ChainQuestions()
    /// Letters on which a verdict depends, known before the topic is read.
    var asked = ChainQuestions()

    init(recentMax: Int?) { self.recentMax = recentMax }

    /// Removes the letters and keeps the questions, to read the topic again.
    mutating func removeLetters() {
        lanes = [:]
        noticed = ChainQuestions()
    }

    var isEmpty: Bool { lanes.isEmpty }

    /// The number of letters and questions in memory.
    var size: Int { lanes.values.reduce(noticed.count + asked.count) { $0 + $1.pieces.count + $1.recent.count } }

    /// The pieces and the unfolded letters, those of one partition in their order.
    var all: [ChainPiece] {
        lanes.sorted { $0.key < $1.key }.flatMap { _, lane in lane.pieces + lane.recent.map { ChainPiece($0) } }
    }

    /// Adds the next letter of its partition.
    ///
    /// - Parameter apart: IDs of letters that are never folded.
    mutating func add(_ letter: ChainLetter, apart: Set<String>) {
        var lane = lanes.removeValue(forKey: letter.partition) ?? Lane()
        notice(letter, after: lane.recent.last ?? lane.pieces.last?.last, &lane)
        lane.recent.append(letter)
        // Half of the letters are folded at a time, so that each letter is moved once.
        if let recentMax, lane.recent.count >= 2 * recentMax {
            for letter in lane.recent.prefix(recentMax) {
                // A letter whose source is not later than that of the letter before was noticed above.
                let isApart =
                    letter.problem != nil || letter.isRedaction || apart.contains(letter.id) || asked.contain(letter)
                    || noticed.contain(letter)
                if isApart || lane.pieces.isEmpty || !lane.pieces[lane.pieces.count - 1].extend(by: letter) {
                    lane.pieces.append(ChainPiece(letter, isApart: isApart))
                }
            }
            lane.recent.removeFirst(recentMax)
        }
        lanes[letter.partition] = lane
    }

    /// Keeps the letters that a letter out of order refers to: the one that it names, and recent
    /// ones whose sources are read again.
    private mutating func notice(_ letter: ChainLetter, after former: ChainLetter?, _ lane: inout Lane) {
        guard let recentMax, let former else { return }
        if letter.previous != former.digest || letter.sourceOffset <= former.sourceOffset {
            if let previous = letter.previous { noticed.digests.insert(previous) }
            lane.repeatsTo = max(lane.repeatsTo, former.sourceOffset)
            lane.repeatsMax = recentMax
        }
        if letter.sourceOffset <= lane.repeatsTo, lane.repeatsMax > 0 {
            lane.repeatsMax -= 1
            noticed.offsets.insert(letter.sourceOffset)
        }
    }
}
