package import OpenSSL
package import Records

/// What the walk over all chains has found.
package struct ChainReport: Sendable, Equatable {
    /// In the order of their names.
    package var chains: [ChainSummary] = []
    /// What is wrong, in the order of the chains; empty where all is as it was written.
    package var findings: [ChainFinding] = []
    /// What an auditor has to know and what is not wrong, such as retention's cut.
    package var notes: [String] = []

    /// What the first stage has counted, as far as its commits were read.
    package var traffic = Traffic()

    package init() {}

    package var isIntact: Bool { findings.isEmpty }

    /// Bodies since the counts of the partitions began.
    package struct Traffic: Sendable, Equatable {
        package var bodies: Int64 = 0
        package var deadLettered: Int64 = 0

        /// Nil while nothing is counted.
        package var deadLetterShare: Double? {
            bodies > 0 ? Double(deadLettered) / Double(bodies) : nil
        }
    }
}

/// One chain as it stands in the topic.
package struct ChainSummary: Sendable, Equatable {
    package let name: ChainName
    /// Its links, each once.
    package let letters: Int
    /// Further copies of letters, as a crash or a worker that has lost its partition leaves them.
    package let repeated: Int
    /// Letters of records whose later letter counts, because the settings changed in between.
    package let superseded: Int
    /// Links behind the last that the group has committed.
    package let uncommitted: Int
    /// Whether links before the first are gone with the retention of the topic.
    package let isCut: Bool
    /// The first link that is there, and the last.
    package let first: ChainLetter?
    package let last: ChainLetter?
}

/// One thing that is wrong with the dead letters.
package enum ChainFinding: Sendable, Equatable {
    /// A letter that is not as its link says, or that contradicts the one that the chain holds.
    case altered(RecordPosition, ChainName, ChainAlteration)
    /// A letter without its original, though nobody is on record as having had it removed.
    case redactionUnrecorded(RecordPosition, ChainName)
    /// Links are missing between two letters, or before the first where retention cannot explain
    /// it.
    case missing(ChainName, after: RecordPosition?, before: RecordPosition)
    /// The last link that the group has committed is not there.
    case endMissing(ChainName, SHA256Digest, last: RecordPosition?)
    /// A letter that the chain does not go on from: written by somebody else, or by a worker that
    /// crashed and whose record was then not refused.
    case outside(ChainName, RecordPosition, isFork: Bool)
    /// A letter that does not lie behind the one that it names.
    case reordered(ChainName, RecordPosition)
    /// The chain begins a second time, after this letter.
    case beganAnew(ChainName, after: RecordPosition)
    /// Fewer letters than the group has counted.
    case fewer(ChainName, counted: Int64, found: Int)
    /// A dead letter without a link.
    case unchained(RecordPosition)
    /// A record of the topic that is no dead letter.
    case foreign(RecordPosition)
    /// A link that was anchored is not there.
    case anchorMissing(ChainName, SHA256Digest)
    /// The file of an export is not the one that its manifest describes.
    case fileDiffers(String, String)

    package var description: String {
        switch self {
        case .altered(let position, let chain, let how):
            "altered: \(position) (\(chain)): \(how.description)"
        case .redactionUnrecorded(let position, let chain):
            "redaction: \(position) (\(chain)): no action is recorded that had the original "
                + "removed"
        case .missing(let chain, nil, let before):
            "missing: \(chain): the letters before \(before), though retention has removed nothing "
                + "there"
        case .missing(let chain, let after?, let before):
            "missing: \(chain): one or more letters between \(after) and \(before)"
        case .endMissing(let chain, let digest, let last):
            "missing: \(chain): the last letter that the worker committed, "
                + "\(digest.hex.prefix(16))…"
                + (last.map { "; the last one that is there is \($0)" } ?? "; none is there")
        case .outside(let chain, let position, let isFork):
            "\(isFork ? "fork" : "inserted"): \(position) (\(chain)): the chain does not go on "
                + "from it: somebody else wrote it, or a worker that crashed before its commit and "
                + "accepted the record when it read it again"
        case .reordered(let chain, let position):
            "reordered: \(position) (\(chain)) lies before the letter that it follows"
        case .beganAnew(let chain, let position):
            "begun anew: \(chain) after \(position): the letters up to it are a chain of their "
                + "own; the worker then logged 'commit metadata missing or unreadable', or "
                + "somebody cut the chain"
        case .fewer(let chain, let counted, let found):
            "missing: \(chain): the worker counted \(counted) dead letters, \(found) are there"
        case .unchained(let position):
            "without a link: \(position): no worker of this version wrote it"
        case .foreign(let position):
            "foreign: \(position) is no dead letter"
        case .anchorMissing(let chain, let digest):
            "missing: \(chain): the anchored link \(digest.hex.prefix(16))… is not there"
        case .fileDiffers(let file, let what):
            "altered: \(file) is not what was exported: \(what)"
        }
    }

    /// A word for programs: the first of the description.
    package var kind: String {
        switch self {
        case .altered, .fileDiffers: "altered"
        case .redactionUnrecorded: "redaction"
        case .missing, .endMissing, .fewer: "missing"
        case .outside(_, _, let isFork): isFork ? "fork" : "inserted"
        case .reordered: "reordered"
        case .beganAnew: "begun_anew"
        case .unchained: "unchained"
        case .foreign: "foreign"
        case .anchorMissing: "anchor_missing"
        }
    }
}

/// How a letter is altered.
package struct ChainAlteration: Sendable, Equatable, CustomStringConvertible {
    /// Nil if the letter is as its own link says: then it contradicts the one that the chain holds.
    package let problem: ChainLetter.Problem?
    /// The letter of the same ID that the chain holds; nil if that is altered too.
    package let original: RecordPosition?
    /// What differs from that letter: names of headers, `key`, `value`.
    package var differences: [String] = []

    package var description: String {
        var text =
            problem?.text
            ?? "it contradicts the letter of its ID that the chain holds: somebody else wrote it, "
            + "or a worker with other settings that had lost its partition"
        if let original { text += "; \(original) is the one that the chain holds" }
        if !differences.isEmpty {
            text += "; what differs: \(differences.joined(separator: ", "))"
        }
        return text
    }
}
