package import OpenSSL

/// The identity of a dead letter: the same for each repetition of one source record's.
package enum DeadLetterID {
    /// 32 hexadecimal digits, from the SHA-256 of what tells the source from every other record.
    ///
    /// A topic that is deleted and made anew counts its offsets from the start again. librdkafka
    /// before 2.3 does not tell a topic's own ID: the record's timestamp and content stand in for
    /// it.
    ///
    /// - Parameters:
    ///   - cluster: the cluster's own ID, so that two clusters' topics of one name differ.
    ///   - timestamp: the record's, in milliseconds; nil where it has none.
    ///   - sha256: of the record's value.
    package static func make(
        cluster: String,
        source: RecordPosition,
        timestamp: Int64?,
        sha256: SHA256Digest
    ) -> String {
        let parts = [
            cluster, source.topic, String(source.partition), String(source.offset),
            timestamp.map { String($0) } ?? "", sha256.hex,
        ]
        let identity = Array(parts.joined(separator: "\0").utf8)
        return String(SHA256.digest(identity).hex.prefix(length))
    }

    package static let length = 32
}
