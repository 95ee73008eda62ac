import OpenSSL

/// The identity of a dead letter: the same for each repetition of one source record's.
package enum DeadLetterID {
    /// 32 hexadecimal digits, from the SHA-256 of the source's place.
    ///
    /// - Parameter cluster: the cluster's own ID, so that two clusters' topics of one name differ.
    package static func make(cluster: String, source: RecordPosition) -> String {
        let place = [
            cluster, source.topic, String(source.partition), String(source.offset),
        ].joined(separator: "\0")
        return String(SHA256.digest(Array(place.utf8)).hex.prefix(length))
    }

    package static let length = 32
}
