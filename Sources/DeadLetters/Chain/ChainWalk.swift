import OpenSSL
import Records

/// The walk over one chain, from its last link to its first.
struct ChainWalk {
    private let name: ChainName
    private let topic: String
    private let head: ChainHead?
    private let starts: [Int32: Int64]
    private let isRange: Bool
    /// The link before the first letter; nil if unknown.
    private let beginning: SHA256Digest??
    private let letters: [ChainLetter]
    /// The copy of each link that stands for it: the first one, or the first unaltered one.
    private var byDigest: [SHA256Digest: ChainLetter] = [:]
    private var followers: [SHA256Digest?: [ChainLetter]] = [:]
    /// From the last link to the first.
    private var path: [ChainLetter] = []
    private var onPath: Set<SHA256Digest> = []
    /// The letters of the path, by their IDs.
    private var standing: [String: ChainLetter] = [:]
    private var uncommitted = 0
    private var repeated = 0
    private var superseded = 0
    private var isCut = false
    private(set) var findings: [ChainFinding] = []
    private(set) var notes: [String] = []

    init(_ name: ChainName, _ letters: [ChainLetter], topic: String, _ evidence: ChainEvidence) {
        self.name = name
        self.topic = topic
        self.letters = letters
        head = evidence.heads[name]
        starts = evidence.starts
        isRange = evidence.isRange
        beginning = evidence.beginnings[name]
        for letter in letters {
            guard let former = byDigest[letter.digest] else {
                byDigest[letter.digest] = letter
                continue
            }
            if former.problem != nil, letter.problem == nil { byDigest[letter.digest] = letter }
        }
        for letter in letters where byDigest[letter.digest] == letter {
            followers[letter.previous, default: []].append(letter)
        }
        walk()
        checkOrder()
        checkRest()
        checkLetters(evidence.redactions)
        checkCount()
        checkAnchor(evidence.anchors[name])
    }

    var summary: ChainSummary {
        ChainSummary(
            name: name,
            letters: path.count,
            repeated: letters.count - byDigest.count + repeated,
            superseded: superseded,
            uncommitted: uncommitted,
            isCut: isCut,
            first: path.last,
            last: path.first
        )
    }

    // MARK: The way back

    private mutating func walk() {
        var current = end()
        while let letter = current {
            path.append(letter)
            onPath.insert(letter.digest)
            if standing[letter.id] == nil { standing[letter.id] = letter }
            current = letterBefore(letter)
        }
    }

    /// The start of the walk: the last committed letter, or the last one behind it not committed
    /// yet.
    private mutating func end() -> ChainLetter? {
        guard let head else { return latest(of: Array(byDigest.values)) }
        if let digest = head.digest, byDigest[digest] == nil {
            guard !byDigest.isEmpty || starts.values.allSatisfy({ $0 == 0 }) else {
                isCut = true
                notes.append("\(name): retention has removed all of its letters")
                return nil
            }
            let last = latest(of: Array(byDigest.values))
            findings.append(.endMissing(name, digest, last: last.map(position)))
            return last
        }
        var end = head.digest.flatMap { byDigest[$0] }
        var behind = head.digest
        // A letter that a worker is about to commit, or that one wrote before it crashed.
        while let next = latest(
            of: (followers[behind] ?? []).filter { $0.sourceOffset >= head.offset }
        ) {
            uncommitted += 1
            end = next
            behind = next.digest
        }
        // A group whose offset was reset and that has refused nothing since.
        let earlier = byDigest.values.filter { $0.sourceOffset < head.offset - head.records }
        if end == nil, let last = latest(of: earlier) {
            findings.append(.beganAnew(name, after: position(last)))
            return last
        }
        return end
    }

    /// The letter that the link names, or across a gap the last one before it.
    private mutating func letterBefore(_ letter: ChainLetter) -> ChainLetter? {
        if let previous = letter.previous, let found = byDigest[previous] { return found }
        let earlier = latest(
            of: byDigest.values.filter { isEarlierEnd($0, than: letter) }
        )
        if let beginning, beginning == letter.previous, earlier == nil { return nil }
        if letter.previous == nil {
            if let earlier { findings.append(.beganAnew(name, after: position(earlier))) }
            return earlier
        }
        // Letters of one chain lie in one partition: retention removes them from the first on.
        let isFirstOfPartition = earlier?.partition != letter.partition
        let isExplained = isRange || starts[letter.partition] ?? 0 > 0
        if isFirstOfPartition, isExplained, beginning == nil {
            isCut = true
        } else {
            findings.append(
                .missing(name, after: earlier.map(position), before: position(letter))
            )
        }
        return earlier
    }

    /// Whether a letter is the end of an earlier piece of the chain.
    ///
    /// After a group's offset was reset, that piece continues with letters that were written again
    /// since, and the path holds their newer copies.
    private func isEarlierEnd(_ candidate: ChainLetter, than letter: ChainLetter) -> Bool {
        guard !onPath.contains(candidate.digest), standing[candidate.id] == nil,
            followers[candidate.digest, default: []].allSatisfy({ standing[$0.id] != nil })
        else { return false }
        return isEarlier(candidate, than: letter)
    }

    /// The letter that was written last.
    private func latest(of some: [ChainLetter]) -> ChainLetter? {
        some.max { isEarlier($0, than: $1) }
    }

    private func isEarlier(_ letter: ChainLetter, than other: ChainLetter) -> Bool {
        letter.partition == other.partition
            ? letter.offset < other.offset : letter.sourceOffset < other.sourceOffset
    }

    // MARK: What the way leaves

    /// Checks that a copy of every letter lies after the letter that it names.
    private mutating func checkOrder() {
        var copies: [SHA256Digest: [ChainLetter]] = [:]
        for letter in letters where onPath.contains(letter.digest) {
            copies[letter.digest, default: []].append(letter)
        }
        var last: [Int32: Int64] = [:]
        for link in path.reversed() {
            let behind = (copies[link.digest] ?? []).filter { $0.offset > last[$0.partition] ?? -1 }
            if let first = behind.min(by: { $0.offset < $1.offset }) {
                last[first.partition] = first.offset
            } else {
                findings.append(.reordered(name, position(link)))
            }
        }
    }

    /// Checks the letters outside of the path.
    private mutating func checkRest() {
        let rest = byDigest.values.filter { !onPath.contains($0.digest) }
        for letter in rest.sorted(by: { ($0.partition, $0.offset) < ($1.partition, $1.offset) }) {
            guard let standing = standing[letter.id] else {
                let isFork = letter.previous.map { onPath.contains($0) } ?? true
                findings.append(.outside(name, position(letter), isFork: isFork))
                continue
            }
            if letter.contents == standing.contents {
                // Another worker wrote it, before it crashed or after it had lost the partition.
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
        for letter in letters {
            if letter.problem != nil { findings.append(altered(letter)) }
            if letter.isRedaction, let redactions, !redactions.contains(letter.id) {
                findings.append(.redactionUnrecorded(position(letter), name))
            }
        }
    }

    private func altered(_ letter: ChainLetter) -> ChainFinding {
        let original = standing[letter.id].flatMap { $0.problem == nil ? position($0) : nil }
        return .altered(
            position(letter),
            name,
            ChainAlteration(problem: letter.problem, original: original)
        )
    }

    /// The letters between the committed end and the first gap or altered letter, the last first.
    ///
    /// Nothing vouches for a letter after the committed end yet: anyone with write access to the
    /// topic can append one.
    var vouchedFor: [ChainLetter] {
        guard var link = head?.digest else { return [] }
        var letters: [ChainLetter] = []
        for letter in path.drop(while: { $0.digest != link }) {
            guard letter.digest == link, letter.problem == nil else { break }
            letters.append(letter)
            guard let previous = letter.previous else { break }
            link = previous
        }
        return letters
    }

    /// Checks that no counted letter is missing before the head.
    private mutating func checkCount() {
        guard let head, findings.isEmpty else { return }
        let committed = path.count - uncommitted
        let missing = head.counted - Int64(committed)
        if isCut {
            guard missing > 0, !path.isEmpty else { return }
            notes.append("\(name): retention has removed the first \(missing) letters")
        } else if missing > 0 {
            findings.append(.fewer(name, counted: head.counted, found: committed))
        }
    }

    private mutating func checkAnchor(_ anchor: ChainAnchor.Link?) {
        guard let anchor, !onPath.contains(anchor.digest) else { return }
        if isCut, anchor.offset < starts[anchor.partition] ?? 0 {
            notes.append("\(name): the anchored letter is older than what retention has left")
        } else {
            findings.append(.anchorMissing(name, anchor.digest))
        }
    }

    private func position(_ letter: ChainLetter) -> RecordPosition {
        RecordPosition(topic: topic, partition: letter.partition, offset: letter.offset)
    }
}
