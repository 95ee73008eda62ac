package import Kafka
package import OpenSSL
package import Records

/// The progress of a stage's group in one chain.
package struct ChainHead: Sendable, Equatable {
    /// The last committed link; nil without one.
    package let digest: SHA256Digest?
    /// The dead letters that the group has counted since its count began.
    package let counted: Int64
    /// The committed offset: the letters of all earlier source records are behind the head.
    package let offset: Int64
    /// All records that the group has counted since then.
    package let records: Int64
}

/// The link before the first letter of a chain.
package enum ChainBeginning: Equatable, Sendable {
    case unknown
    /// The chain begins with this letter.
    case first
    case after(SHA256Digest)

    init(after previous: SHA256Digest?) { self = previous.map { .after($0) } ?? .first }
}

/// Evidence besides the letters themselves.
package struct ChainEvidence: Sendable {
    /// The last committed link of each chain; a missing chain was not asked for, or its group has
    /// committed nothing.
    package var heads: [ChainName: ChainHead] = [:]
    /// The oldest offset that retention has left, by partition of the dead-letter topic.
    package var starts: [Int32: Int64] = [:]
    /// Links that were stored elsewhere.
    package var anchors: [ChainName: ChainAnchor.Link] = [:]
    /// The offsets between which an export's letters lie, by partition; nil for the topic itself.
    package var exported: [Int32: ClosedRange<Int64>]?
    /// Whether only letters of a time range were read, so that earlier ones are not missing.
    package var isRange = false
    /// The letters with a recorded redaction; nil if no database was asked.
    package var redactions: Set<String>?
    /// The beginning of each chain, if stored.
    package var beginnings: [ChainName: ChainBeginning] = [:]
}

/// Walks the hash chains of a dead-letter topic and names the first gap, fork, altered or missing
/// letter of each.
///
/// Holds chains, gaps, copies and the newest letters. A copy of an older letter is compared with it
/// in another reading: read, add and report until `mustReadAgain` is false. Without other evidence
/// it cannot detect that all letters were replaced by a consistent forgery, together with the
/// group's commits. An anchor shows that.
package struct ChainVerifier: Sendable {
    private let topic: String
    private let recentMax: Int?
    private let empty: ChainPieces
    private var chains: [ChainName: ChainPieces] = [:]
    private var findings: [ChainFinding] = []
    private var foreign = 0
    /// The letters that are kept by themselves.
    private var apart: Set<String> = []
    /// Whether the last report depends on folded letters: call `removeLetters()` and read again.
    package private(set) var mustReadAgain = false

    /// - Parameter recentMax: the letters of a chain that are not folded yet; nil for all. The
    ///   default covers what a worker usually writes again after a crash.
    package init(topic: String, recentMax: Int? = 256) {
        self.topic = topic
        self.recentMax = recentMax
        empty = ChainPieces(recentMax: recentMax)
    }

    /// Adds ends and redactions before the letters are read, which saves another reading.
    ///
    /// - Parameter ids: letters that are not folded, because they are asked for.
    package mutating func expect(_ evidence: ChainEvidence, keeping ids: Set<String> = []) {
        apart = (evidence.redactions ?? []).union(ids)
        let ends = evidence.heads.compactMapValues(\.digest).map { ($0, $1) } + evidence.anchors.map { ($0, $1.digest) }
        for (name, digest) in ends { chains[name, default: empty].asked.digests.insert(digest) }
    }

    /// Removes everything that was read, and keeps the questions.
    package mutating func removeLetters() {
        findings = []
        foreign = 0
        for name in chains.keys { chains[name]?.removeLetters() }
    }

    /// The number of letters, questions and findings in memory.
    var size: Int { chains.values.reduce(findings.count) { $0 + $1.size } }

    /// Adds a letter with its original; those of one partition in their order.
    package mutating func add(_ letter: DeadLetter, _ record: ConsumerRecord) {
        guard let kept = ChainLetter(letter, record) else { return add(unchained: letter) }
        add(kept)
    }

    mutating func add(unchained letter: DeadLetter) { findings.append(.unchained(letter.position)) }

    /// Adds a letter that was compared with its own link.
    mutating func add(_ letter: ChainLetter) { chains[letter.chain, default: empty].add(letter, apart: apart) }

    package mutating func add(foreign record: ConsumerRecord) {
        // Bounded: one finding is enough to point there.
        guard foreign < Self.foreignMax else { return }
        foreign += 1
        findings.append(.foreign(RecordPosition(record)))
    }

    /// Walks the chains from their ends to their beginnings.
    package mutating func report(_ evidence: ChainEvidence) -> ChainReport {
        var report = ChainReport()
        report.findings = findings
        mustReadAgain = false
        var redactions = 0
        for walk in walks(evidence) {
            ask(walk.questions(), of: walk.name)
            report.chains.append(walk.summary)
            report.findings += walk.findings
            report.notes += walk.notes
            redactions += walk.pieces.count { $0.last.isRedaction }
        }
        if evidence.redactions == nil, redactions > 0 {
            report.notes.append(
                "\(redactions) redactions were not compared with their recorded actions: no database was asked")
        }
        return report
    }

    /// The unfolded letters that a committed end vouches for, link by link, by their IDs.
    mutating func vouchedFor(_ evidence: ChainEvidence) -> [String: ChainLetter] {
        mustReadAgain = false
        var letters: [String: ChainLetter] = [:]
        for walk in walks(evidence) {
            ask(walk.questions(), of: walk.name)
            for letter in walk.vouchedFor { letters[letter.id] = letter }
        }
        return letters
    }

    private mutating func ask(_ questions: ChainQuestions, of chain: ChainName) {
        if chains[chain, default: empty].asked.merge(questions) { mustReadAgain = true }
    }

    private func walks(_ evidence: ChainEvidence) -> some Sequence<ChainWalk> {
        let named = evidence.heads.filter { $0.value.digest != nil }.map(\.key)
        let names = Set(chains.filter { !$0.value.isEmpty }.map(\.key)).union(named).union(evidence.anchors.keys)
        return names.sorted().lazy.map { ChainWalk($0, chains[$0]?.all ?? [], topic: topic, evidence) }
    }

    private static let foreignMax = 1_000
}
