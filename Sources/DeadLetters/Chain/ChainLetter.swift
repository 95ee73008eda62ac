import AppStore
package import Kafka
package import OpenSSL
package import Records

/// Which chain: the dead letters of one stage and one partition that it reads.
package struct ChainName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let stage: String
    /// The source topic.
    package let topic: String
    package let partition: Int32

    package init(stage: String, topic: String, partition: Int32) {
        self.stage = stage
        self.topic = topic
        self.partition = partition
    }

    package var description: String { "\(stage) of \(topic)/\(partition)" }

    package static func < (left: ChainName, right: ChainName) -> Bool {
        (left.stage, left.topic, left.partition) < (right.stage, right.topic, right.partition)
    }
}

/// What the verification of a chain keeps of a dead letter: its link, and where it lies.
package struct ChainLetter: Sendable, Equatable {
    package let chain: ChainName
    package let id: String
    package let sourceOffset: Int64
    /// Nil for the first link of a chain.
    package let previous: SHA256Digest?
    package let digest: SHA256Digest
    /// Where the dead letter lies.
    package let partition: Int32
    package let offset: Int64
}

/// A dead letter against itself: whether it is what its own digests say.
package enum ChainLetterReading: Sendable, Equatable {
    /// Its digests fit.
    case intact(ChainLetter)
    /// It names a link, but something that its digests cover is different.
    case altered(ChainLetter, String)
    /// A dead letter without a link that can be read.
    case unchained

    /// - Parameters:
    ///   - record: the one that the letter was read from.
    ///   - hasOriginal: whether it has the original's value, key and headers.
    package init(_ letter: DeadLetter, _ record: ConsumerRecord, hasOriginal: Bool = true) {
        guard let digest = SHA256Digest(hex: letter.chainSHA256),
            let previous = DeadLetterLink.digest(of: letter.chainPrevious)
        else {
            self = .unchained
            return
        }
        let kept = ChainLetter(
            chain: ChainName(
                stage: letter.stage,
                topic: letter.source.topic,
                partition: letter.source.partition
            ),
            id: letter.id,
            sourceOffset: letter.source.offset,
            previous: previous,
            digest: digest,
            partition: letter.position.partition,
            offset: letter.position.offset
        )
        let difference =
            Self.differenceOfLink(letter, digest, previous)
            ?? (hasOriginal ? Self.differenceOfOriginal(letter, record) : nil)
        if let difference {
            self = .altered(kept, difference)
        } else {
            self = .intact(kept)
        }
    }

    private static func differenceOfLink(
        _ letter: DeadLetter,
        _ digest: SHA256Digest,
        _ previous: SHA256Digest?
    ) -> String? {
        let link = DeadLetterLink(
            id: letter.id,
            stage: letter.stage,
            reason: letter.reason,
            source: letter.source,
            timestamp: letter.sourceTimestamp?.milliseconds,
            sha256: letter.sourceSHA256,
            headSHA256: letter.sourceHeadSHA256,
            previous: previous
        )
        return link.digest == digest
            ? nil : "its ID, stage, reason or source is not what its link was made of"
    }

    private static func differenceOfOriginal(
        _ letter: DeadLetter,
        _ record: ConsumerRecord
    ) -> String? {
        let original = DeadLetterOriginal(record)
        if letter.value == .original,
            SHA256.digest(original.value ?? []).hex != letter.sourceSHA256
        {
            return "its value is not the original's"
        }
        if letter.omitted == nil, letter.value != .redacted,
            DeadLetterLink.headDigest(key: original.key, headers: original.headers).hex
                != letter.sourceHeadSHA256
        {
            return "its key or headers are not the original's"
        }
        return nil
    }
}
