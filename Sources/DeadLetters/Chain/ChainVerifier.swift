package import Kafka
package import OpenSSL
package import Records

/// How far a stage's group has come with one chain.
package struct ChainHead: Sendable, Equatable {
    /// The last link that was committed; nil where none was.
    package let digest: SHA256Digest?
    /// The dead letters that the group has counted since its tally began.
    package let counted: Int64
    /// The offset that was committed: the letters of all source records before it are behind the
    /// head.
    package let offset: Int64
    /// All records that the group has counted since then.
    package let records: Int64

    package init(digest: SHA256Digest?, counted: Int64, offset: Int64, records: Int64) {
        self.digest = digest
        self.counted = counted
        self.offset = offset
        self.records = records
    }
}

/// What is known beside the letters themselves.
package struct ChainEvidence: Sendable {
    /// The last committed link of each chain; a chain that is not named was not asked for, or its
    /// group has committed nothing.
    package var heads: [ChainName: ChainHead] = [:]
    /// The oldest offset that retention has left, by partition of the dead-letter topic.
    package var starts: [Int32: Int64] = [:]
    /// Links that were written down elsewhere.
    package var anchors: [ChainName: ChainAnchor.Link] = [:]
    /// Whether the letters are those of a time only: what was before is not missing.
    package var isRange = false
    /// The letters whose redaction is recorded; nil if no database was asked.
    package var redactions: Set<String>?
    /// What the first letter of each chain names as the one before it, where that was written down.
    package var beginnings: [ChainName: SHA256Digest?] = [:]

    package init() {}
}

/// Walks the hash chains of a dead-letter topic and names the first gap, fork, altered or missing
/// letter of each.
///
/// Holds about two hundred bytes for each letter. What it cannot show without evidence from
/// elsewhere: a topic whose letters were all replaced by a consistent forgery, together with the
/// group's commits. An anchor shows that.
package struct ChainVerifier: Sendable {
    /// The dead-letter topic.
    private let topic: String
    private var letters: [ChainName: [ChainLetter]] = [:]
    private var findings: [ChainFinding] = []

    package init(topic: String) {
        self.topic = topic
    }

    /// Adds a letter; those of one partition in their order.
    ///
    /// - Parameter hasOriginal: whether the record has the original's value, key and headers.
    package mutating func add(
        _ letter: DeadLetter,
        _ record: ConsumerRecord,
        hasOriginal: Bool = true
    ) {
        guard let kept = ChainLetter(letter, record, hasOriginal: hasOriginal) else {
            return add(unchained: letter)
        }
        add(kept)
    }

    /// Adds a letter without a link.
    mutating func add(unchained letter: DeadLetter) {
        findings.append(.unchained(letter.position))
    }

    /// Adds a letter that was compared with its own link.
    mutating func add(_ letter: ChainLetter) {
        letters[letter.chain, default: []].append(letter)
    }

    /// Adds a record that is no dead letter.
    package mutating func add(foreign record: ConsumerRecord) {
        findings.append(.foreign(RecordPosition(record)))
    }

    /// Walks the chains from their ends to their beginnings.
    package func report(_ evidence: ChainEvidence) -> ChainReport {
        var report = ChainReport()
        report.findings = findings
        for walk in walks(evidence) {
            report.chains.append(walk.summary)
            report.findings += walk.findings
            report.notes += walk.notes
        }
        let unasked = letters.values.joined().count { $0.isRedaction }
        if evidence.redactions == nil, unasked > 0 {
            report.notes.append(
                "\(unasked) redactions were not compared with their recorded actions: no database "
                    + "was asked"
            )
        }
        return report
    }

    /// The letters that a committed end vouches for, link by link, by their IDs.
    package func vouchedFor(_ evidence: ChainEvidence) -> [String: ChainLetter] {
        var letters: [String: ChainLetter] = [:]
        for letter in walks(evidence).lazy.flatMap(\.vouchedFor) {
            letters[letter.id] = letter
        }
        return letters
    }

    private func walks(_ evidence: ChainEvidence) -> some Sequence<ChainWalk> {
        let named = evidence.heads.filter { $0.value.digest != nil }.map(\.key)
        let names = Set(letters.keys).union(named).union(evidence.anchors.keys)
        return names.sorted().lazy.map {
            ChainWalk($0, letters[$0] ?? [], topic: topic, evidence)
        }
    }
}
