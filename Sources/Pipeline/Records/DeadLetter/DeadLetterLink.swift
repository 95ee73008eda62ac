package import Kafka
package import OpenSSL

/// A link of the hash chain of the dead letters of one stage and source partition.
///
/// Only one worker at a time owns a partition, so the chain has one writer. The link covers every `dlq.` header of the
/// letter, including headers of later versions:
///
/// - the contents: the identity (ID, stage, reason, class, source), the description (detail, chain, attempt and any
///   other header), and the parts that a redaction removes (value state, unverified fields). The contents follow from
///   the source record and the refusal, and a copy repeats them;
/// - the origin: worker, version and settings. Another worker's copy differs only in the origin;
/// - the previous link.
///
/// A letter that the same worker writes again after a crash has the same link. Another worker's copy has the same
/// contents but its own link. A forger who writes such a copy gains nothing: the chain continues from one of the
/// copies, and readers use the worker of the first copy.
package struct DeadLetterLink: Hashable, Sendable {
    /// The digest of the previous link.
    ///
    /// `nil` for the first link.
    package let previous: SHA256Digest?
    /// The digest of everything that is equal in all copies of the letter.
    package let contents: SHA256Digest
    /// The digest of contents, origin and previous link; the next link refers to this one by it.
    package let digest: SHA256Digest

    /// Computes the link of a letter.
    ///
    /// - Parameter headers: the letter's headers; headers of the original, and a link in the headers, are ignored.
    package init(_ headers: [KafkaHeader], after previous: SHA256Digest?) {
        let headers = headers.filter { $0.movedBack == nil }
        let parts = Dictionary(grouping: headers, by: Part.init)
        func digest(_ part: Part) -> String { Self.digest(parts[part] ?? []).hex }
        self.previous = previous
        contents = Self.digest([
            "entitlement-pipeline dead letter 2", digest(.identity), digest(.description),
            Self.removedByRedaction(headers) ?? digest(.removable),
        ])
        self.digest = Self.digest([contents.hex, digest(.origin), Self.text(of: previous)])
    }

    /// Computes the link of a letter that was read.
    ///
    /// `nil` if the letter does not name the previous link.
    package init?(reading headers: [KafkaHeader]) {
        let named = headers.filter { $0.name == DeadLetterHeader.previous }
        guard named.count == 1, let text = named[0].value,
            let previous = Self.digest(of: String(decoding: text, as: UTF8.self))
        else { return nil }
        self.init(headers, after: previous)
    }

    /// The digest of the parts that a redaction removes; it replaces them.
    static func removableDigest(_ headers: [KafkaHeader]) -> SHA256Digest {
        digest(headers.filter { $0.movedBack == nil && Part($0) == .removable })
    }

    /// The digest in a redaction.
    ///
    /// `nil` for any other letter.
    private static func removedByRedaction(_ headers: [KafkaHeader]) -> String? {
        func text(_ name: String) -> String? {
            let named = headers.filter { $0.name == name }
            return named.count == 1 ? named[0].value.map { String(decoding: $0, as: UTF8.self) } : nil
        }
        guard text(DeadLetterHeader.value) == DeadLetterValue.redacted.rawValue else { return nil }
        return text(DeadLetterHeader.redactedSHA256)
    }

    /// The parts of a letter's added headers.
    private enum Part {
        case identity, description, removable, origin
        /// The link itself, the previous link, and the additions of a redaction, which its recorded action
        /// authenticates.
        case apart

        init(_ header: KafkaHeader) {
            switch header.name {
            case DeadLetterHeader.id, DeadLetterHeader.stage, DeadLetterHeader.reason, DeadLetterHeader.deadLetterClass,
                DeadLetterHeader.sourceTopic, DeadLetterHeader.sourcePartition, DeadLetterHeader.sourceOffset,
                DeadLetterHeader.sourceTimestamp, DeadLetterHeader.sourceSHA256, DeadLetterHeader.sourceHeadSHA256:
                self = .identity
            case DeadLetterHeader.value, DeadLetterHeader.omitted: self = .removable
            case DeadLetterHeader.worker, DeadLetterHeader.verifierVersion, DeadLetterHeader.configurationSHA256:
                self = .origin
            case DeadLetterHeader.previous, DeadLetterHeader.chainSHA256: self = .apart
            default:
                let name = header.name
                self =
                    name.hasPrefix(DeadLetterHeader.unverifiedPrefix)
                    ? .removable : name.hasPrefix(DeadLetterHeader.redactedPrefix) ? .apart : .description
            }
        }
    }

    /// The digest as a header's text: 64 hexadecimal digits, zeros for `nil`.
    package static func text(of digest: SHA256Digest?) -> String { digest?.hex ?? noneText }

    /// The inverse of `text(of:)`.
    ///
    /// `nil` for any other text.
    package static func digest(of text: String) -> SHA256Digest?? {
        guard text != noneText else { return .some(nil) }
        guard let digest = SHA256Digest(hex: text), digest.hex == text else { return nil }
        return .some(digest)
    }

    private static let noneText = String(repeating: "0", count: 64)

    /// SHA-256 over a record's key and headers (such as `user-id`), each preceded by its length, so that different
    /// records have different input.
    package static func headDigest(key: [UInt8]?, headers: [KafkaHeader]) -> SHA256Digest {
        var bytes: [UInt8] = []
        append(key, to: &bytes)
        append(headers, to: &bytes)
        return SHA256.digest(bytes)
    }

    private static func digest(_ headers: [KafkaHeader]) -> SHA256Digest {
        var bytes: [UInt8] = []
        append(headers, to: &bytes)
        return SHA256.digest(bytes)
    }

    private static func digest(_ texts: [String]) -> SHA256Digest {
        var bytes: [UInt8] = []
        for text in texts { append(Array(text.utf8), to: &bytes) }
        return SHA256.digest(bytes)
    }

    private static func append(_ headers: [KafkaHeader], to bytes: inout [UInt8]) {
        for header in headers {
            append(header.nameBytes, to: &bytes)
            append(header.value, to: &bytes)
        }
    }

    /// Appends a part with its length: null as `-`, an empty text as `0:`.
    private static func append(_ part: [UInt8]?, to bytes: inout [UInt8]) {
        guard let part else {
            bytes.append(UInt8(ascii: "-"))
            return
        }
        bytes += Array("\(part.count):".utf8)
        bytes += part
    }
}
