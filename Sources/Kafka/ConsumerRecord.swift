/// One record as it lies in its partition.
///
/// A null key or value is `nil` and an empty one is `[]`: a tombstone and an empty body are
/// different things.
package struct ConsumerRecord: Sendable, Equatable {
    package let topicPartition: TopicPartition
    package let offset: Int64
    /// Milliseconds since 1970 in UTC, where the broker gave a timestamp.
    package let timestampMilliseconds: Int64?
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [KafkaHeader]

    package init(
        topicPartition: TopicPartition,
        offset: Int64,
        timestampMilliseconds: Int64? = nil,
        key: [UInt8]? = nil,
        value: [UInt8]? = nil,
        headers: [KafkaHeader] = []
    ) {
        self.topicPartition = topicPartition
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// The bytes of key, value and headers, which is what a batch is bounded by.
    package var payloadBytes: Int {
        var bytes = (key?.count ?? 0) + (value?.count ?? 0)
        for header in headers {
            bytes += header.nameBytes.count + (header.value?.count ?? 0)
        }
        return bytes
    }
}
