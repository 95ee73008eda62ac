import AppStore
package import Kafka
package import OpenSSL
package import Records

/// A chain's name: the stage and the partition that it reads.
package struct ChainName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let stage: String
    package let topic: String
    package let partition: Int32

    package var description: String { "\(stage) of \(topic)/\(partition)" }

    package static func < (left: ChainName, right: ChainName) -> Bool {
        (left.stage, left.topic, left.partition) < (right.stage, right.topic, right.partition)
    }
}

/// The part of a dead letter that the verification of a chain keeps: its link and its position.
package struct ChainLetter: Sendable, Equatable {
    package let chain: ChainName
    package let id: String
    package let sourceOffset: Int64
    /// The previous link.
    ///
    /// `nil` for the first link of a chain.
    package let previous: SHA256Digest?
    /// The link that the letter states.
    package let digest: SHA256Digest
    /// The digest of everything that all copies of a letter share, computed from the stored letter.
    package let contents: SHA256Digest
    /// The part of the letter that contradicts its link.
    ///
    /// `nil` if the letter matches its link.
    package internal(set) var problem: Problem?
    package let isRedaction: Bool
    /// The dead letter's partition.
    package let partition: Int32
    package let offset: Int64

    package static let unchainedText = "it has no link: no worker of this version wrote it"

    /// The part of a stored letter that contradicts its link.
    package enum Problem: Sendable, Equatable {
        case headers, value, keyOrHeaders, originalLeftOut

        package var text: String {
            switch self {
            case .headers: "its headers are not those that its link was made of"
            case .value: "its value is not the original's"
            case .keyOrHeaders: "its key or headers are not the original's"
            case .originalLeftOut: "its original was left out without a recorded redaction"
            }
        }
    }

    /// Compares a letter with its own link.
    ///
    /// `nil` for a letter without a readable link.
    ///
    /// - Parameters:
    ///   - record: the letter's record.
    ///   - hasOriginal: whether the record has the original's value, key and headers.
    package init?(_ letter: DeadLetter, _ record: ConsumerRecord, hasOriginal: Bool = true) {
        guard let stated = SHA256Digest(hex: letter.chainSHA256), let link = DeadLetterLink(reading: record.headers)
        else { return nil }
        chain = ChainName(stage: letter.stage, topic: letter.source.topic, partition: letter.source.partition)
        id = letter.id
        sourceOffset = letter.source.offset
        previous = link.previous
        digest = stated
        contents = link.contents
        isRedaction = letter.value == .redacted
        partition = letter.position.partition
        offset = letter.position.offset
        problem = link.digest == stated ? hasOriginal ? Self.problemOfOriginal(letter, record) : nil : .headers
    }

    private static func problemOfOriginal(_ letter: DeadLetter, _ record: ConsumerRecord) -> Problem? {
        let original = DeadLetterOriginal(record)
        if letter.value == .original, SHA256.digest(original.value ?? []).hex != letter.sourceSHA256 { return .value }
        if letter.omitted == nil, letter.value != .redacted,
            DeadLetterLink.headDigest(key: original.key, headers: original.headers).hex != letter.sourceHeadSHA256
        {
            return .keyOrHeaders
        }
        return nil
    }
}
