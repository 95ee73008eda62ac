import Kafka

/// The names of the headers that a dead letter carries beside the original's own.
package enum DeadLetterHeader {
    package static let prefix = "dlq."
    /// Stands before what was a `dlq.` header of the original.
    package static let originalPrefix = "dlq.original."

    package static let id = "dlq.id"
    package static let reason = "dlq.reason"
    package static let deadLetterClass = "dlq.class"
    package static let detail = "dlq.detail"
    package static let stage = "dlq.stage"
    package static let value = "dlq.value"
    /// What else had to be left out of a record that was too large even without its value.
    package static let omitted = "dlq.omitted"
    package static let sourceTopic = "dlq.source.topic"
    package static let sourcePartition = "dlq.source.partition"
    package static let sourceOffset = "dlq.source.offset"
    package static let sourceTimestamp = "dlq.source.timestamp"
    package static let sourceSHA256 = "dlq.source.sha256"
    package static let rawTopic = "dlq.raw.topic"
    package static let rawPartition = "dlq.raw.partition"
    package static let rawOffset = "dlq.raw.offset"
    package static let verifierVersion = "dlq.verifier.version"
    package static let configurationSHA256 = "dlq.config.sha256"
    package static let chain = "dlq.chain"
    package static let transactionID = "dlq.unverified.transaction-id"
    package static let originalTransactionID = "dlq.unverified.original-transaction-id"
    package static let bundleID = "dlq.unverified.bundle-id"
    package static let environment = "dlq.unverified.environment"
    package static let productID = "dlq.unverified.product-id"
    package static let signedDate = "dlq.unverified.signed-date"
    package static let attempt = "dlq.attempt"
    package static let worker = "dlq.worker"
}

extension KafkaHeader {
    private static let prefix = Array(DeadLetterHeader.prefix.utf8)
    private static let originalPrefix = Array(DeadLetterHeader.originalPrefix.utf8)

    /// A header of the original as its dead letter carries it: a `dlq.` name moves aside.
    var movedAside: KafkaHeader {
        guard nameBytes.starts(with: Self.prefix) else { return self }
        let rest = nameBytes.dropFirst(Self.prefix.count)
        return KafkaHeader(nameBytes: Self.originalPrefix + rest, value: value)
    }

    /// The reverse of `movedAside`; nil for a header that the dead letter added.
    var movedBack: KafkaHeader? {
        guard nameBytes.starts(with: Self.prefix) else { return self }
        guard nameBytes.starts(with: Self.originalPrefix) else { return nil }
        let rest = nameBytes.dropFirst(Self.originalPrefix.count)
        return KafkaHeader(nameBytes: Self.prefix + rest, value: value)
    }
}
