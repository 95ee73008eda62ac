package import OpenSSL
package import Records

/// The result of the walk over all chains.
package struct ChainReport: Sendable, Equatable {
    /// Chains sorted by name.
    package var chains: [ChainSummary] = []
    /// Faults in the order of the chains; empty if all is as it was written.
    package var findings: [ChainFinding] = []
    /// Facts for an auditor that are no faults, such as a cut by retention.
    package var notes: [String] = []

    /// The counts of the first stage, as far as its commits were read.
    package var traffic = Traffic()

    package var isIntact: Bool { findings.isEmpty }

    /// The numbers of bodies and dead letters since the partitions' counts began.
    package struct Traffic: Sendable, Equatable {
        package var bodies: Int64 = 0
        package var deadLettered: Int64 = 0

        /// The share of dead letters among all bodies, from 0 to 1.
        ///
        /// `nil` before anything is counted.
        package var deadLetterShare: Double? { bodies > 0 ? Double(deadLettered) / Double(bodies) : nil }
    }
}

/// The summary of a chain in the topic.
package struct ChainSummary: Sendable, Equatable {
    package let name: ChainName
    /// Number of different links.
    package let letters: Int
    /// Number of further copies of letters, left by a crash or by a worker that has lost its partition.
    package let repeated: Int
    /// Number of letters whose record has a later letter, because the settings changed in between.
    package let superseded: Int
    /// Number of links after the last one that the group has committed.
    package let uncommitted: Int
    /// Whether retention has removed links before the first.
    package let isCut: Bool
    /// The first and the last stored link.
    package let first: ChainLetter?
    package let last: ChainLetter?
}

/// A fault of the dead letters.
package enum ChainFinding: Sendable, Equatable {
    /// A letter that contradicts its link, or the chain's letter of the same ID.
    case altered(RecordPosition, ChainName, ChainAlteration)
    /// A letter without its original and without a recorded redaction.
    case redactionUnrecorded(RecordPosition, ChainName)
    /// Missing links between two letters, or before the first one although retention has removed none.
    case missing(ChainName, after: RecordPosition?, before: RecordPosition)
    /// The last link that the group has committed is missing.
    case endMissing(ChainName, SHA256Digest, last: RecordPosition?)
    /// A letter from which no chain continues: a stranger wrote it, or a worker that crashed and
    /// then accepted the record.
    case outside(ChainName, RecordPosition, isFork: Bool)
    /// A letter stored before the one that it names.
    case reordered(ChainName, RecordPosition)
    /// The chain begins a second time, after this letter.
    case beganAnew(ChainName, after: RecordPosition)
    case fewer(ChainName, counted: Int64, found: Int)
    case unchained(RecordPosition)
    /// A record of the topic that is no dead letter.
    case foreign(RecordPosition)
    case anchorMissing(ChainName, SHA256Digest)
    /// The file of an export differs from its manifest.
    case fileDiffers(String, String)

    package var description: String {
        switch self {
        case .altered(let position, let chain, let how): "altered: \(position) (\(chain)): \(how.description)"
        case .redactionUnrecorded(let position, let chain):
            "redaction: \(position) (\(chain)): the removal of its original is not recorded"
        case .missing(let chain, nil, let before):
            "missing: \(chain): the letters before \(before), though retention has removed nothing there"
        case .missing(let chain, let after?, let before):
            "missing: \(chain): one or more letters between \(after) and \(before)"
        case .endMissing(let chain, let digest, let last):
            "missing: \(chain): the last letter that the worker committed, \(digest.hex.prefix(16))…"
                + (last.map { "; the last one that is stored is \($0)" } ?? "; none is stored")
        case .outside(let chain, let position, let isFork):
            "\(isFork ? "fork" : "inserted"): \(position) (\(chain)): the chain does not continue "
                + "from it: a stranger wrote it, or a worker that crashed before its commit and "
                + "accepted the record when it read it again"
        case .reordered(let chain, let position):
            "reordered: \(position) (\(chain)) lies before the letter that it follows"
        case .beganAnew(let chain, let position):
            "restarted: \(chain) after \(position): the letters up to it are a chain of their "
                + "own; the worker then logged 'commit metadata missing or unreadable', or somebody cut the chain"
        case .fewer(let chain, let counted, let found):
            "missing: \(chain): the worker counted \(counted) dead letters, \(found) are stored"
        case .unchained(let position): "without a link: \(position): no worker of this version wrote it"
        case .foreign(let position): "foreign: \(position) is no dead letter"
        case .anchorMissing(let chain, let digest):
            "missing: \(chain): the anchored link \(digest.hex.prefix(16))… is not stored"
        case .fileDiffers(let file, let what): "altered: \(file) is not what was exported: \(what)"
        }
    }

    /// The positions that the finding names.
    var positions: [RecordPosition] {
        switch self {
        case .altered(let position, _, _), .redactionUnrecorded(let position, _), .missing(_, nil, let position),
            .outside(_, let position, _), .reordered(_, let position), .beganAnew(_, let position),
            .unchained(let position), .foreign(let position), .endMissing(_, _, let position?):
            [position]
        case .missing(_, let after?, let before): [after, before]
        case .endMissing(_, _, nil), .fewer, .anchorMissing, .fileDiffers: []
        }
    }

    /// The kind of the finding, for programs.
    package var kind: String {
        switch self {
        case .altered, .fileDiffers: "altered"
        case .redactionUnrecorded: "redaction"
        case .missing, .endMissing, .fewer: "missing"
        case .outside(_, _, let isFork): isFork ? "fork" : "inserted"
        case .reordered: "reordered"
        case .beganAnew: "restarted"
        case .unchained: "unchained"
        case .foreign: "foreign"
        case .anchorMissing: "anchor_missing"
        }
    }
}

/// The alteration of a letter.
package struct ChainAlteration: Sendable, Equatable, CustomStringConvertible {
    /// The part of the letter that contradicts its own link.
    ///
    /// `nil` if the letter matches its own link, and contradicts the chain's letter of the same ID.
    package let problem: ChainLetter.Problem?
    /// The position of the chain's letter of the same ID.
    ///
    /// `nil` if that letter is altered too.
    package let original: RecordPosition?
    /// The parts that differ from that letter: names of headers, `key`, `value`.
    package var differences: [String] = []

    package var description: String {
        var text =
            problem?.text ?? "it contradicts the letter of its ID that the chain holds: a stranger wrote it, "
            + "or a worker with other settings that had lost its partition"
        if let original { text += "; \(original) is the one that the chain holds" }
        if !differences.isEmpty { text += "; what differs: \(differences.joined(separator: ", "))" }
        return text
    }
}
