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
        switch ChainLetterReading(letter, record, hasOriginal: hasOriginal) {
        case .intact(let kept):
            letters[kept.chain, default: []].append(kept)
        case .altered(let kept, let difference):
            findings.append(.altered(letter.position, kept.chain, difference))
            letters[kept.chain, default: []].append(kept)
        case .unchained:
            findings.append(.unchained(letter.position))
        }
    }

    /// Adds a record that is no dead letter.
    package mutating func add(foreign record: ConsumerRecord) {
        findings.append(.foreign(RecordPosition(record)))
    }

    /// Walks the chains from their ends to their beginnings.
    package func report(_ evidence: ChainEvidence) -> ChainReport {
        var report = ChainReport()
        report.findings = findings
        let named = evidence.heads.filter { $0.value.digest != nil }.map(\.key)
        let names = Set(letters.keys).union(named).union(evidence.anchors.keys)
        for name in names.sorted() {
            let walk = ChainWalk(name, letters[name] ?? [], topic: topic, evidence)
            report.chains.append(walk.summary)
            report.findings += walk.findings
            report.notes += walk.notes
        }
        return report
    }
}
