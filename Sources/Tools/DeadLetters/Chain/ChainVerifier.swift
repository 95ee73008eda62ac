package import Kafka
package import OpenSSL
package import Records

/// The progress of a stage's group in one chain.
package struct ChainHead: Sendable, Equatable {
    /// The last committed link.
    ///
    /// `nil` if the group has committed none.
    package let digest: SHA256Digest?
    /// Number of dead letters that the group has counted since its count began.
    package let counted: Int64
    /// The committed offset: the letters of all earlier source records are committed.
    package let offset: Int64
    /// Number of all records that the group has counted since then.
    package let records: Int64
}

/// The link before the first letter of a chain.
package enum ChainBeginning: Equatable, Sendable {
    case unknown
    /// No link: the chain begins with the letter.
    case first
    case after(SHA256Digest)

    init(after previous: SHA256Digest?) { self = previous.map { .after($0) } ?? .first }
}

/// Evidence besides the letters themselves.
package struct ChainEvidence: Sendable {
    /// The progress of each chain's group; a missing chain was not asked for, or its group has committed nothing.
    package var heads: [ChainName: ChainHead] = [:]
    /// The oldest offset that retention has left, by partition of the dead-letter topic.
    package var starts: [Int32: Int64] = [:]
    /// Links that were stored outside of Kafka.
    package var anchors: [ChainName: ChainAnchor.Link] = [:]
    /// The offsets between which an export's letters lie, by partition.
    ///
    /// `nil` for the topic itself.
    package var exported: [Int32: ClosedRange<Int64>]?
    /// Whether only letters of a time range were read, so that earlier letters do not count as missing.
    package var isRange = false
    /// IDs of the letters with a recorded redaction.
    ///
    /// `nil` if no database was asked.
    package var redactions: Set<String>?
    /// The beginning of each chain, if stored.
    package var beginnings: [ChainName: ChainBeginning] = [:]
}

/// Walks the hash chains of a dead-letter topic and names every gap, fork, altered or missing letter.
///
/// Memory holds chains, gaps, copies and the newest letters. Comparing a copy with an older letter
/// takes another reading: read, add and report until `mustReadAgain` is false. Without an anchor
/// the verifier cannot detect a consistent forgery of all letters and of the group's commits.
package struct ChainVerifier: Sendable {
    private let topic: String
    private let empty: ChainPieces
    private var chains: [ChainName: ChainPieces] = [:]
    private var findings: [ChainFinding] = []
    private var foreign = 0
    /// IDs of the letters that are never folded.
    private var apart: Set<String> = []
    /// Whether the last report depends on folded letters: call `removeLetters()` and read again.
    package private(set) var mustReadAgain = false

    /// - Parameter recentMax: the number of newest letters of a partition that are not folded;
    ///   `nil` for all. The default covers what a worker usually writes again after a crash.
    package init(topic: String, recentMax: Int? = 256) {
        self.topic = topic
        empty = ChainPieces(recentMax: recentMax)
    }

    /// Adds ends and redactions before the letters are read, which saves another reading.
    ///
    /// - Parameter ids: IDs of letters that are never folded, because they are asked for.
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

    /// Adds a letter with its original; the letters of a partition must come in their order.
    package mutating func add(_ letter: DeadLetter, _ record: ConsumerRecord) {
        guard let kept = ChainLetter(letter, record) else { return add(unchained: letter) }
        add(kept)
    }

    mutating func add(unchained letter: DeadLetter) { findings.append(.unchained(letter.position)) }

    /// Adds a letter that was compared with its own link.
    mutating func add(_ letter: ChainLetter) { chains[letter.chain, default: empty].add(letter, apart: apart) }

    package mutating func add(foreign record: ConsumerRecord) {
        // The number is bounded, because one finding is enough to point to foreign records.
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
        return names.sorted().lazy.map { ChainWalk($0, chains[$0]?.all ?? [], topic: topic, evidence: evidence) }
    }

    private static let foreignMax = 1_000
}
