package struct TopicPartition: Hashable, Sendable, Comparable {
    package let topic: String
    package let partition: Int32

    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// Hashes the partition alone, because a set or a dictionary holds partitions of one or two topics.
    package func hash(into hasher: inout Hasher) { hasher.combine(partition) }

    package static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        left.topic == right.topic ? left.partition < right.partition : left.topic < right.topic
    }
}

extension TopicPartition: CustomStringConvertible { package var description: String { "\(topic)[\(partition)]" } }

/// A record as stored in its partition.
///
/// A null key or value is `nil`, an empty one is `[]`: a tombstone differs from an empty body.
///
/// The record is a class so that lists share it without a copy.
package final class ConsumerRecord: Sendable {
    package let topicPartition: TopicPartition
    /// The record's offset, within `KafkaBounds.offsets`.
    package let offset: Int64
    /// Milliseconds since 1970 in UTC, within `KafkaBounds.times`.
    ///
    /// `nil` if the record has no timestamp, or one before 1970.
    package let timestampMilliseconds: Int64?
    package let key: [UInt8]?
    package let value: [UInt8]?
    package let headers: [KafkaHeader]

    package init(
        topicPartition: TopicPartition, offset: Int64, timestampMilliseconds: Int64? = nil, key: [UInt8]? = nil,
        value: [UInt8]? = nil, headers: [KafkaHeader] = []
    ) {
        self.topicPartition = topicPartition
        self.offset = KafkaBounds.offset(offset)
        self.timestampMilliseconds = timestampMilliseconds.flatMap { KafkaBounds.time($0) }
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// The bytes of key, value and headers, which the bound of a batch counts.
    package var payloadBytes: Int {
        var bytes = (key?.count ?? 0) + (value?.count ?? 0)
        for header in headers { bytes += header.nameBytes.count + (header.value?.count ?? 0) }
        return bytes
    }
}

extension ConsumerRecord: Equatable {
    package static func == (left: ConsumerRecord, right: ConsumerRecord) -> Bool {
        left.topicPartition == right.topicPartition && left.offset == right.offset
            && left.timestampMilliseconds == right.timestampMilliseconds && left.key == right.key
            && left.value == right.value && left.headers == right.headers
    }
}

/// A record to be written; its timestamp will be the time of writing.
package struct ProducerRecord: Sendable, Equatable {
    package var topic: String
    /// The partition to write to.
    ///
    /// `nil` leaves the choice to the partitioner: by key, or any partition without a key.
    package var partition: Int32?
    package var key: [UInt8]?
    /// The value to write.
    ///
    /// `nil` writes a tombstone, `[]` an empty value.
    package var value: [UInt8]?
    package var headers: [KafkaHeader]

    package init(
        topic: String, partition: Int32? = nil, key: [UInt8]? = nil, value: [UInt8]? = nil, headers: [KafkaHeader] = []
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
    }
}

extension ProducerRecord {
    /// The maximum size of the record as an uncompressed batch of its own.
    ///
    /// Producer and broker compare it with their limits (`message.max.bytes`, `max.message.bytes`).
    ///
    /// A batch that compression would enlarge is sent uncompressed, so the brokers accept a record within the limit.
    package var batchBytesMax: Int {
        var bytes = Self.batchOverhead + Self.recordOverheadMax
        bytes += (key?.count ?? 0) + (value?.count ?? 0)
        for header in headers { bytes += header.nameBytes.count + (header.value?.count ?? 0) + Self.headerOverheadMax }
        return bytes
    }

    /// Overhead of a RecordBatch in Kafka's message format 2.
    private static let batchOverhead = 61
    /// Overhead of one record in a batch: lengths, deltas and attributes in their longest forms.
    private static let recordOverheadMax = 36
    /// Overhead of a header: the lengths of name and value.
    private static let headerOverheadMax = 10
}

/// A header of a record.
///
/// The name is stored as bytes: a producer may have written any bytes, and a dead letter must copy them unchanged. A
/// null value (`nil`) differs from an empty value.
package struct KafkaHeader: Sendable, Equatable {
    package let nameBytes: [UInt8]
    package let value: [UInt8]?

    /// Truncates the name at its first NUL: librdkafka returns a name as a C string, so a reader could never get a
    /// longer name.
    package init(nameBytes: [UInt8], value: [UInt8]?) {
        self.nameBytes = nameBytes.firstIndex(of: 0).map { Array(nameBytes[..<$0]) } ?? nameBytes
        self.value = value
    }

    package init(name: String, value: [UInt8]?) { self.init(nameBytes: Array(name.utf8), value: value) }

    package init(name: String, text: String) { self.init(nameBytes: Array(name.utf8), value: Array(text.utf8)) }

    /// The name as text; bytes that are not UTF-8 are repaired.
    package var name: String { String(decoding: nameBytes, as: UTF8.self) }
}
