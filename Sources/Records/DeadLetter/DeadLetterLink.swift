package import Kafka
package import OpenSSL

/// A link of the hash chain that the dead letters of one stage and source partition form.
///
/// One worker at a time owns a partition, so the chain has one writer. What is hashed is made of
/// the source record and the refusal alone, neither of clock nor worker: a dead letter that is
/// written again after a crash is the same link.
package struct DeadLetterLink: Hashable, Sendable {
    /// The digest of the link before it; nil for the first.
    package let previous: SHA256Digest?
    /// SHA-256 of the text below, by which the next link names this one.
    package let digest: SHA256Digest

    /// - Parameters:
    ///   - timestamp: the source record's, in milliseconds; nil where it has none.
    ///   - sha256: of the source record's value.
    ///   - headSHA256: of its key and headers; see `headDigest(key:headers:)`.
    package init(
        id: String,
        stage: String,
        reason: String,
        source: RecordPosition,
        timestamp: Int64?,
        sha256: String,
        headSHA256: String,
        previous: SHA256Digest?
    ) {
        // None of the values can hold a line break where a worker has written them, so that a text
        // can be read in one way only.
        let lines = [
            "entitlement-pipeline dead letter",
            "id=\(id)",
            "stage=\(stage)",
            "reason=\(reason)",
            "source.topic=\(source.topic)",
            "source.partition=\(source.partition)",
            "source.offset=\(source.offset)",
            "source.timestamp=\(timestamp.map { String($0) } ?? "")",
            "source.sha256=\(sha256)",
            "source.head.sha256=\(headSHA256)",
            "prev=\(Self.text(of: previous))",
        ]
        self.previous = previous
        digest = SHA256.digest(Array(lines.joined(separator: "\n").utf8))
    }

    /// The digest as the headers have it: 64 hexadecimal digits, zeros where there is none.
    package static func text(of digest: SHA256Digest?) -> String {
        digest?.hex ?? noneText
    }

    /// The reverse of `text(of:)`; nil for anything else.
    package static func digest(of text: String) -> SHA256Digest?? {
        guard text != noneText else { return .some(nil) }
        guard let digest = SHA256Digest(hex: text), digest.hex == text else { return nil }
        return .some(digest)
    }

    private static let noneText = String(repeating: "0", count: 64)

    /// SHA-256 over a record's key and headers, each with its length before it, so that no two
    /// records have the same text: what stands beside the value, such as `user-id`.
    package static func headDigest(key: [UInt8]?, headers: [KafkaHeader]) -> SHA256Digest {
        var bytes: [UInt8] = []
        append(key, to: &bytes)
        for header in headers {
            append(header.nameBytes, to: &bytes)
            append(header.value, to: &bytes)
        }
        return SHA256.digest(bytes)
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
