package import AppStore
import Entitlements
import JSON
import Kafka
package import OpenSSL

/// The names of the headers that a dead letter adds to the original's headers.
package enum DeadLetterHeader {
    package static let prefix = "dlq."
    /// The prefix for an original's header whose name begins with `dlq.`.
    package static let originalPrefix = "dlq.original."

    package static let id = "dlq.id"
    package static let reason = "dlq.reason"
    package static let deadLetterClass = "dlq.class"
    package static let detail = "dlq.detail"
    package static let stage = "dlq.stage"
    package static let value = "dlq.value"
    /// The other omitted parts of a record that was too large even without its value.
    package static let omitted = "dlq.omitted"
    package static let sourceTopic = "dlq.source.topic"
    package static let sourcePartition = "dlq.source.partition"
    package static let sourceOffset = "dlq.source.offset"
    package static let sourceTimestamp = "dlq.source.timestamp"
    package static let sourceSHA256 = "dlq.source.sha256"
    package static let sourceHeadSHA256 = "dlq.source.head.sha256"
    package static let rawTopic = "dlq.raw.topic"
    package static let rawPartition = "dlq.raw.partition"
    package static let rawOffset = "dlq.raw.offset"
    package static let verifierVersion = "dlq.verifier.version"
    package static let configurationSHA256 = "dlq.config.sha256"
    package static let chain = "dlq.chain"
    /// The prefix for the original's unverified identifiers.
    static let unverifiedPrefix = "dlq.unverified."
    package static let transactionID = "dlq.unverified.transaction-id"
    package static let originalTransactionID = "dlq.unverified.original-transaction-id"
    package static let bundleID = "dlq.unverified.bundle-id"
    package static let environment = "dlq.unverified.environment"
    package static let productID = "dlq.unverified.product-id"
    package static let signedDate = "dlq.unverified.signed-date"
    package static let attempt = "dlq.attempt"
    /// The dead letter from which a record was replayed.
    package static let replayOf = "dlq.replay-of"
    package static let worker = "dlq.worker"
    /// The previous link in the chain of the source's partition; zeros for the first link.
    package static let previous = "dlq.prev"
    package static let chainSHA256 = "dlq.chain.sha256"
    static let redactedPrefix = "dlq.redacted."
    /// The digest of the headers that a redaction removed, from which readers compute the link.
    package static let redactedSHA256 = "dlq.redacted.sha256"
    /// The person who ordered the removal of the original, the reason and the time.
    package static let redactedBy = "dlq.redacted.by"
    package static let redactedWhy = "dlq.redacted.why"
    package static let redactedAt = "dlq.redacted.at"
}

extension KafkaHeader {
    private static let prefix = Array(DeadLetterHeader.prefix.utf8)
    private static let originalPrefix = Array(DeadLetterHeader.originalPrefix.utf8)

    /// The form of an original's header in its dead letter: a `dlq.` name gets a prefix.
    var movedAside: KafkaHeader {
        guard nameBytes.starts(with: Self.prefix) else { return self }
        let rest = nameBytes.dropFirst(Self.prefix.count)
        return KafkaHeader(nameBytes: Self.originalPrefix + rest, value: value)
    }

    /// The inverse of `movedAside`.
    ///
    /// `nil` for a header that the dead letter added.
    var movedBack: KafkaHeader? {
        guard nameBytes.starts(with: Self.prefix) else { return self }
        guard nameBytes.starts(with: Self.originalPrefix) else { return nil }
        let rest = nameBytes.dropFirst(Self.originalPrefix.count)
        return KafkaHeader(nameBytes: Self.prefix + rest, value: value)
    }
}

/// The state of the record's value in a dead letter, from the header `dlq.value`.
package enum DeadLetterValue: String, Sendable, CaseIterable {
    /// The value as read; a null stays a null.
    case original
    /// A value too large for the broker: the headers name the position of the original.
    case omitted
    /// A value removed by order, in a later letter of the same ID and link, without the original.
    case redacted
}

/// The identity of a dead letter, equal for all copies from one source record.
package enum DeadLetterID {
    /// Returns 32 hexadecimal digits of the SHA-256 of the facts that identify the source record.
    ///
    /// A topic that is deleted and recreated restarts its offsets. librdkafka before 2.3 does not report a topic's own
    /// ID, so the record's timestamp and content are used instead.
    ///
    /// - Parameters:
    ///   - cluster: the cluster's own ID, which distinguishes topics with the same name.
    ///   - timestamp: the record's timestamp in milliseconds; `nil` if it has none.
    ///   - sha256: the digest of the record's value.
    package static func make(cluster: String, source: RecordPosition, timestamp: Int64?, sha256: SHA256Digest) -> String
    {
        let parts = [
            cluster, source.topic, String(source.partition), String(source.offset), timestamp.map { String($0) } ?? "",
            sha256.hex,
        ]
        let identity = Array(parts.joined(separator: "\0").utf8)
        return String(SHA256.digest(identity).hex.prefix(length))
    }

    package static let length = 32
}

extension UnverifiedIdentifiers {
    package init(_ observation: Observation) {
        self.init()
        let facts = observation.facts
        transactionID = facts.transaction?.key.transactionID.text
        originalTransactionID = observation.originalTransactionID?.text
        bundleID = observation.bundleID?.text
        environment = observation.environment.rawValue
        productID = (facts.transaction?.identity.productID ?? facts.renewal?.productID)?.text
        signedDate = observation.verification?.signedDate
    }

    init(_ headers: DeadLetterHeaders) {
        self.init()
        transactionID = headers[DeadLetterHeader.transactionID]
        originalTransactionID = headers[DeadLetterHeader.originalTransactionID]
        bundleID = headers[DeadLetterHeader.bundleID]
        environment = headers[DeadLetterHeader.environment]
        productID = headers[DeadLetterHeader.productID]
        signedDate = headers.number(DeadLetterHeader.signedDate).map(Timestamp.init(milliseconds:))
    }

    /// The names and values of the headers that are set.
    var headers: [(name: String, text: String)] {
        [
            (DeadLetterHeader.transactionID, transactionID),
            (DeadLetterHeader.originalTransactionID, originalTransactionID), (DeadLetterHeader.bundleID, bundleID),
            (DeadLetterHeader.environment, environment), (DeadLetterHeader.productID, productID),
            (DeadLetterHeader.signedDate, signedDate.map { String($0.milliseconds) }),
        ].compactMap { name, text in text.map { (name, $0) } }
    }
}
