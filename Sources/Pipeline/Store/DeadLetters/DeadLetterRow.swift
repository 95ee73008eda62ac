package import AppStore
import OpenSSL
import Postgres
package import Records

/// The index's row of one dead letter: searchable facts, and nothing that could be replayed.
///
/// Its texts may come from strangers; those of a row that was read are storable text.
package struct DeadLetterRow: Equatable, Sendable {
    /// The source record: its position, its time and the digest of its value.
    package struct Source: Equatable, Sendable {
        package var position: RecordPosition
        package var at: Timestamp?
        package var sha256: String

        package init(position: RecordPosition, at: Timestamp?, sha256: String) {
            self.position = position
            self.at = at
            self.sha256 = sha256
        }
    }

    /// The fingerprints of the chain, in hexadecimal digits; nil if a certificate is absent.
    package struct Certificates: Equatable, Sendable {
        package var leaf: String?
        package var intermediate: String?
        package var root: String?

        package init(leaf: String? = nil, intermediate: String? = nil, root: String? = nil) {
            self.leaf = leaf
            self.intermediate = intermediate
            self.root = root
        }
    }

    package var id: String
    /// Number of times that the letter was written.
    package var copies: Int64 = 1
    /// Whether copies that match their links contradict each other, or lie in different partitions,
    /// which copies by workers do not.
    package var isDisputed = false
    /// The position in the dead-letter topic of the copy that counts.
    package var letterPartition: Int32
    package var letterOffset: Int64
    package var failedAt: Timestamp
    package var reason: String
    package var deadLetterClass: String
    package var stage: String
    package var detail: String
    /// The value of `dlq.value`: `original` or `omitted`.
    package var valueState: String
    package var omitted: String?
    package var source: Source
    package var raw: RecordPosition?
    package var identifiers: UnverifiedIdentifiers
    package var certificates: Certificates
    /// The producer of the original, if its headers name one.
    package var producer: String?
    package var verifierVersion: String
    package var configurationSHA256: String
    package var attempt: Int64
    package var worker: String
    package var replayOf: String?
    package var chainSHA256: String?
    package var chainPrevious: String?
    /// The digest of everything that copies have in common; empty without a link.
    package var contentsSHA256 = ""
    /// The reason for which the letter is not trustworthy.
    ///
    /// `nil` if the letter matches its link.
    package var doubt: String?
    /// The database's state; it follows from the actions and is not written with the row.
    package var state = DeadLetterState.open

    /// The group of the letters that look like this one: 16 hexadecimal digits of their common
    /// properties, so that it is the same whenever the index is built.
    package var groupID: String {
        let parts = [
            reason, certificates.leaf, certificates.intermediate, certificates.root, identifiers.bundleID,
            source.position.topic, producer,
        ]
        // The length precedes each, so that no text can end in another's beginning.
        let text = parts.map { part in part.map { StorableText.of($0) }.map { "\($0.utf8.count):\($0)" } ?? "-" }
            .joined()
        return String(SHA256.digest(Array(text.utf8)).hex.prefix(16))
    }

    /// The value state of a letter whose original was removed by order.
    package static let redacted = "redacted"

    /// Whether this copy counts instead of another of the same ID: a letter that matches its link,
    /// then a redaction, then the first in the topic.
    ///
    /// Copies repeat the first one. A later one that differs may be anybody's.
    package func counts(before other: DeadLetterRow) -> Bool { rank < other.rank }

    /// The order of the copies of one ID; the first counts.
    package typealias Rank = (isDoubtful: Int, isWhole: Int, partition: Int32, offset: Int64)

    package var rank: Rank { (doubt == nil ? 0 : 1, isRedaction ? 0 : 1, letterPartition, letterOffset) }

    /// Counts another copy of the same ID.
    package mutating func merge(_ other: DeadLetterRow) {
        var merged = other.counts(before: self) ? other : self
        merged.copies = copies + other.copies
        let isContradiction = contentsSHA256 != other.contentsSHA256 || letterPartition != other.letterPartition
        merged.isDisputed = isDisputed || other.isDisputed || doubt == nil && other.doubt == nil && isContradiction
        self = merged
    }

    package var isRedaction: Bool { valueState == Self.redacted }

    /// Doubts a redaction that is not among the recorded ones.
    ///
    /// - Parameter recorded: nil if no database was asked.
    package mutating func checkRedaction(_ recorded: Set<String>?) {
        guard isRedaction, doubt == nil, recorded?.contains(id) != true else { return }
        doubt =
            "it claims that its original was redacted, but "
            + (recorded == nil ? "no database was asked for" : "there is no") + " record of it"
    }

    /// The reason for which an auditor should not trust the letter.
    ///
    /// `nil` if nothing speaks against it.
    package var warning: String? {
        doubt
            ?? (isDisputed
                ? "other letters of this ID contradict it: 'dead-letter verify' shows which one the chain holds" : nil)
    }
}

extension DeadLetterRow {
    package init(
        id: String, letterPartition: Int32, letterOffset: Int64, failedAt: Timestamp, reason: String,
        deadLetterClass: String, stage: String, detail: String, valueState: String, source: Source,
        identifiers: UnverifiedIdentifiers, certificates: Certificates, verifierVersion: String,
        configurationSHA256: String, attempt: Int64, worker: String
    ) {
        self.id = id
        self.letterPartition = letterPartition
        self.letterOffset = letterOffset
        self.failedAt = failedAt
        self.reason = reason
        self.deadLetterClass = deadLetterClass
        self.stage = stage
        self.detail = detail
        self.valueState = valueState
        self.source = source
        self.identifiers = identifiers
        self.certificates = certificates
        self.verifierVersion = verifierVersion
        self.configurationSHA256 = configurationSHA256
        self.attempt = attempt
        self.worker = worker
    }
}

/// Text as PostgreSQL stores and indexes it.
package enum StorableText {
    /// No index of PostgreSQL takes more than 2,704 bytes, and nobody searches for as much.
    package static let bytesMax = 512

    /// The text with NUL made visible, and no longer than `bytesMax` bytes.
    ///
    /// A longer text is cut and followed by the digest of the whole, so that two different ones
    /// stay different.
    package static func of(_ text: String) -> String {
        let visible = whole(text)
        guard visible.utf8.count > bytesMax else { return visible }
        var kept = String.UnicodeScalarView()
        var bytes = 0
        for scalar in visible.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= beginningBytes else { break }
            kept.append(scalar)
        }
        return String(kept) + "…" + SHA256.digest(Array(text.utf8)).hex
    }

    private static let beginningBytes = 256

    /// The text with NUL made visible, for a column without an index.
    package static func whole(_ text: String) -> String {
        guard text.utf8.contains(0) else { return text }
        return text.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\u{0}")
    }
}

/// The state of a dead letter, from its actions.
package enum DeadLetterState: String, TextColumnValue, CaseIterable {
    /// Nobody has dealt with it, or its replay was refused again.
    case open
    /// The letter was replayed, and accepted or its outcome is not known.
    case replayed
    case resolved
    /// The letter is hidden from the list of letters to deal with.
    case suppressed
}
