import OpenSSL
import Records

/// The walk over one chain, from its last link to its first.
///
/// The result is final once `questions()` returns nothing new.
struct ChainWalk {
    let name: ChainName
    private let topic: String
    private let head: ChainHead?
    private let starts: [Int32: Int64]
    private let isRange: Bool
    private let beginning: ChainBeginning
    private let anchor: ChainAnchor.Link?
    private let exported: [Int32: ClosedRange<Int64>]?
    let pieces: [ChainPiece]
    /// The copy of each link that counts: the first unaltered one, or else the first one.
    ///
    /// The link of a piece is that of its last letter.
    private(set) var byDigest: [SHA256Digest: ChainPiece] = [:]
    private var followers: [SHA256Digest?: [ChainPiece]] = [:]
    /// Pieces from the last link to the first.
    private var path: [ChainPiece] = []
    private(set) var onPath: Set<SHA256Digest> = []
    /// The first and last letters of the path's pieces, by their IDs.
    private(set) var standing: [String: ChainLetter] = [:]
    private var uncommitted = 0
    private var repeated = 0
    private var superseded = 0
    private var isCut = false
    /// IDs of the letters with which the path continues across a gap.
    private(set) var earlierEnds: Set<String> = []
    /// Source offsets of pieces with a letter out of order.
    private(set) var reordered: [ClosedRange<Int64>] = []
    private(set) var findings: [ChainFinding] = []
    private(set) var notes: [String] = []

    init(_ name: ChainName, _ pieces: [ChainPiece], topic: String, evidence: ChainEvidence) {
        self.name = name
        self.topic = topic
        self.pieces = pieces
        anchor = evidence.anchors[name]
        exported = evidence.exported
        head = evidence.heads[name]
        starts = evidence.starts
        isRange = evidence.isRange
        beginning = evidence.beginnings[name] ?? .unknown
        for piece in pieces {
            guard let former = byDigest[piece.digest] else {
                byDigest[piece.digest] = piece
                continue
            }
            if former.last.problem != nil, piece.last.problem == nil { byDigest[piece.digest] = piece }
        }
        for piece in pieces where byDigest[piece.digest] == piece {
            followers[piece.first.previous, default: []].append(piece)
        }
        walk()
        checkOrder()
        checkRest()
        checkLetters(evidence.redactions)
        checkCount()
        checkAnchor()
    }

    var summary: ChainSummary {
        ChainSummary(
            name: name, letters: Self.letters(of: path), repeated: pieces.count - byDigest.count + repeated,
            superseded: superseded, uncommitted: uncommitted, isCut: isCut, first: path.last?.first,
            last: path.first?.last)
    }

    /// The links that a commit or an anchor names as ends.
    var ends: [SHA256Digest] { [head?.digest, anchor?.digest].compactMap(\.self) }

    /// The offset of the first source record that the group has counted.
    ///
    /// `nil` if the group has refused a record since, or its progress is unknown.
    var beganWithoutLetter: Int64? { head.flatMap { $0.digest == nil ? $0.offset - $0.records : nil } }

    // MARK: The walk

    private mutating func walk() {
        var current = end()
        while let piece = current {
            path.append(piece)
            onPath.insert(piece.digest)
            for letter in [piece.last, piece.first] where standing[letter.id] == nil { standing[letter.id] = letter }
            current = pieceBefore(piece)
        }
    }

    /// The start of the walk: the last committed letter, or the last uncommitted one that follows it.
    private mutating func end() -> ChainPiece? {
        guard let head else { return latest(of: byDigest.values) }
        if let digest = head.digest, byDigest[digest] == nil {
            guard !byDigest.isEmpty || starts.values.allSatisfy({ $0 == 0 }) else {
                isCut = true
                notes.append("\(name): retention has removed all of its letters")
                return nil
            }
            let last = latest(of: byDigest.values)
            findings.append(.endMissing(name, digest, last: last.map { position($0.last) }))
            return last
        }
        var end = head.digest.flatMap { byDigest[$0] }
        var behind = head.digest
        // Letters that a worker is about to commit, or wrote before it crashed.
        while let next = latest(
            of: (followers[behind] ?? []).filter { $0.first.sourceOffset >= head.offset }, by: { $0.first })
        {
            uncommitted += next.letters
            end = next
            behind = next.digest
        }
        // The group's offset was reset, and the group has refused nothing since.
        if end == nil, let began = beganWithoutLetter,
            let last = latest(of: byDigest.values.filter { $0.last.sourceOffset < began })
        {
            findings.append(.beganAnew(name, after: position(last.last)))
            return last
        }
        return end
    }

    /// The piece that the link names; across a gap, the last piece before it.
    private mutating func pieceBefore(_ piece: ChainPiece) -> ChainPiece? {
        let letter = piece.first
        // A link to the path is not followed: it is a fork, or altered letters name each other in a circle.
        let isMet = letter.previous.map(onPath.contains) ?? false
        if !isMet, let previous = letter.previous, let found = byDigest[previous] { return found }
        let earlier = latest(of: byDigest.values.filter { isEarlierEnd($0, than: letter) })
        if let earlier { earlierEnds.insert(earlier.last.id) }
        if beginning == ChainBeginning(after: letter.previous), earlier == nil { return nil }
        if letter.previous == nil || isMet {
            if let earlier { findings.append(.beganAnew(name, after: position(earlier.last))) }
            return earlier
        }
        // Letters of one chain lie in one partition: retention removes them from the first on.
        let isFirstOfPartition = earlier?.last.partition != letter.partition
        if isFirstOfPartition, mayBeCut(letter), beginning == .unknown {
            isCut = true
        } else {
            findings.append(.missing(name, after: earlier.map { position($0.last) }, before: position(letter)))
        }
        return earlier
    }

    /// Whether letters before this one may be gone without a fault.
    func mayBeCut(_ letter: ChainLetter) -> Bool { isRange || starts[letter.partition] ?? 0 > 0 }

    /// Whether a letter is the end of an earlier part of the chain.
    ///
    /// Such a part exists if a group's offset was reset. The letters that follow its end were
    /// written again since, and the path holds their newer copies.
    private func isEarlierEnd(_ candidate: ChainPiece, than letter: ChainLetter) -> Bool {
        guard !onPath.contains(candidate.digest), standing[candidate.last.id] == nil,
            followers[candidate.digest, default: []].allSatisfy({ standing[$0.first.id] != nil })
        else { return false }
        return isEarlier(candidate.last, than: letter)
    }

    /// The piece whose letter was written last.
    ///
    /// Among the last letters of all partitions, the one with the highest source offset counts.
    private func latest(of some: some Sequence<ChainPiece>, by letter: (ChainPiece) -> ChainLetter = { $0.last })
        -> ChainPiece?
    {
        var last: [Int32: ChainPiece] = [:]
        for piece in some {
            let next = letter(piece)
            if let former = last[next.partition], letter(former).offset >= next.offset { continue }
            last[next.partition] = piece
        }
        return last.values.max {
            let (left, right) = (letter($0), letter($1))
            return (left.sourceOffset, left.partition) < (right.sourceOffset, right.partition)
        }
    }

    private func isEarlier(_ letter: ChainLetter, than other: ChainLetter) -> Bool {
        letter.partition == other.partition ? letter.offset < other.offset : letter.sourceOffset < other.sourceOffset
    }

    // MARK: Checks after the walk

    /// Checks that a copy of every letter lies after the letter that it names.
    private mutating func checkOrder() {
        var copies: [SHA256Digest: [ChainPiece]] = [:]
        for piece in pieces where onPath.contains(piece.digest) { copies[piece.digest, default: []].append(piece) }
        var last: [Int32: Int64] = [:]
        for link in path.reversed() {
            let behind = (copies[link.digest] ?? []).filter { piece in
                piece.first.offset > last[piece.first.partition] ?? -1
            }
            if let next = behind.min(by: { $0.first.offset < $1.first.offset }) {
                last[next.last.partition] = next.last.offset
            } else {
                findings.append(.reordered(name, position(link.first)))
                if link.isFolded { reordered.append(link.sources) }
            }
        }
    }

    /// Checks the letters outside of the path.
    private mutating func checkRest() {
        let rest = byDigest.values.filter { !onPath.contains($0.digest) }.map(\.last)
        for letter in rest.sorted(by: { ($0.partition, $0.offset) < ($1.partition, $1.offset) }) {
            guard let standing = standing[letter.id] else {
                let isFork = letter.previous.map { onPath.contains($0) } ?? true
                findings.append(.outside(name, position(letter), isFork: isFork))
                continue
            }
            if letter.contents == standing.contents {
                // Another worker wrote this copy, before it crashed or after it had lost the partition.
                repeated += 1
            } else if letter.problem == nil, isEarlier(letter, than: standing) {
                superseded += 1
            } else if letter.problem == nil {
                findings.append(altered(letter))
            }
        }
    }

    /// Checks that every letter matches its link, and that redactions are recorded.
    private mutating func checkLetters(_ redactions: Set<String>?) {
        for letter in pieces.lazy.map(\.last) {
            if letter.problem != nil { findings.append(altered(letter)) }
            if letter.isRedaction, let redactions, !redactions.contains(letter.id) {
                findings.append(.redactionUnrecorded(position(letter), name))
            }
        }
    }

    private func altered(_ letter: ChainLetter) -> ChainFinding {
        let original = standing[letter.id].flatMap { $0.problem == nil ? position($0) : nil }
        return .altered(position(letter), name, ChainAlteration(problem: letter.problem, original: original))
    }

    /// The unfolded letters from the committed end back to the first gap or altered letter.
    ///
    /// Nothing vouches for a letter after the committed end yet: anyone with write access to the
    /// topic can append one.
    var vouchedFor: [ChainLetter] {
        guard var link = head?.digest else { return [] }
        var letters: [ChainLetter] = []
        for piece in path.drop(while: { $0.digest != link }) {
            guard piece.digest == link, piece.last.problem == nil else { break }
            if !piece.isFolded { letters.append(piece.last) }
            guard let previous = piece.first.previous else { break }
            link = previous
        }
        return letters
    }

    /// Checks that no counted letter is missing before the head.
    private mutating func checkCount() {
        guard let head, findings.isEmpty else { return }
        let committed = Self.letters(of: path) - uncommitted
        let missing = head.counted - Int64(committed)
        if isCut {
            guard missing > 0, !path.isEmpty else { return }
            notes.append("\(name): retention has removed the first \(missing) letters")
        } else if missing > 0 {
            findings.append(.fewer(name, counted: head.counted, found: committed))
        }
    }

    private mutating func checkAnchor() {
        guard let anchor, !onPath.contains(anchor.digest) else { return }
        if isCut, anchor.offset < starts[anchor.partition] ?? 0 {
            notes.append("\(name): the anchored letter is older than what retention has left")
        } else if let exported, exported[anchor.partition]?.contains(anchor.offset) != true {
            notes.append(
                "\(name): the anchored letter, \(topic)/\(anchor.partition)/\(anchor.offset), lies "
                    + "outside of the export")
        } else {
            findings.append(.anchorMissing(name, anchor.digest))
        }
    }

    private static func letters(of path: [ChainPiece]) -> Int { path.reduce(0) { $0 + $1.letters } }

    private func position(_ letter: ChainLetter) -> RecordPosition {
        RecordPosition(topic: topic, partition: letter.partition, offset: letter.offset)
    }
}
