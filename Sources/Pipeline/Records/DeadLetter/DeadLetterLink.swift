package import Kafka
package import OpenSSL

/// A link of the hash chain that the dead letters of one stage and source partition form.
///
/// A single worker at a time owns a partition, so the chain has one writer. The link covers every
/// `dlq.` header of the letter, including headers of later versions:
///
/// - the contents: the identity (ID, stage, reason, class, source), the description (detail, chain,
///   attempt and any other), and the parts that a redaction removes (value state, unverified
///   fields). They follow from the source record and the refusal, and a copy repeats them;
/// - the origin: worker, version and settings. Another worker's copy differs only here;
/// - the previous link.
///
/// A letter that the same worker writes again after a crash is the same link. Another worker's copy
/// has the same contents and its own link. A forger who writes such a copy gains nothing: the chain
/// continues from one of the copies, and readers take the worker from the first.
package struct DeadLetterLink: Hashable, Sendable {
    /// The digest of the previous link; nil for the first.
    package let previous: SHA256Digest?
    /// The digest of everything that copies of the letter have in common.
    package let contents: SHA256Digest
    /// The digest of contents, origin and previous link, by which the next link names this one.
    package let digest: SHA256Digest

    /// Computes the link of a letter.
    ///
    /// - Parameter headers: the letter's; the original's headers, and the link that the headers
    ///   state, are ignored.
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

    /// Computes the link of a letter that was read; nil if it does not name the previous link.
    package init?(reading headers: [KafkaHeader]) {
        let named = headers.filter { $0.name == DeadLetterHeader.previous }
        guard named.count == 1, let text = named[0].value,
            let previous = Self.digest(of: String(decoding: text, as: UTF8.self))
        else { return nil }
        self.init(headers, after: previous)
    }

    /// The digest of the parts that a redaction replaces by it.
    static func removableDigest(_ headers: [KafkaHeader]) -> SHA256Digest {
        digest(headers.filter { $0.movedBack == nil && Part($0) == .removable })
    }

    /// The digest that a redaction carries; nil for any other letter.
    private static func removedByRedaction(_ headers: [KafkaHeader]) -> String? {
        func text(_ name: String) -> String? {
            let named = headers.filter { $0.name == name }
            return named.count == 1 ? named[0].value.map { String(decoding: $0, as: UTF8.self) } : nil
        }
        guard text(DeadLetterHeader.value) == DeadLetterValue.redacted.rawValue else { return nil }
        return text(DeadLetterHeader.redactedSHA256)
    }

    /// The parts of the headers that a letter adds.
    private enum Part {
        case identity, description, removable, origin
        /// The link itself, the previous one, and the additions of a redaction, which its recorded
        /// action vouches for.
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

    /// The digest as a header's text: 64 hexadecimal digits, zeros for nil.
    package static func text(of digest: SHA256Digest?) -> String { digest?.hex ?? noneText }

    /// The reverse of `text(of:)`; nil for anything else.
    package static func digest(of text: String) -> SHA256Digest?? {
        guard text != noneText else { return .some(nil) }
        guard let digest = SHA256Digest(hex: text), digest.hex == text else { return nil }
        return .some(digest)
    }

    private static let noneText = String(repeating: "0", count: 64)

    /// SHA-256 over a record's key and headers (such as `user-id`), each preceded by its length, so
    /// that no two records have the same text.
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

    /// A null is `-`, an empty text `0:`.
    private static func append(_ part: [UInt8]?, to bytes: inout [UInt8]) {
        guard let part else {
            bytes.append(UInt8(ascii: "-"))
            return
        }
        bytes += Array("\(part.count):".utf8)
        bytes += part
    }
}
