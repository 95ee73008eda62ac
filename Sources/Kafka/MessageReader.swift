import CRDKafka

/// Copies librdkafka's messages into records.
struct MessageReader {
    private var topics = TopicNames()

    /// Forgets the topics' names; the next messages look them up again.
    mutating func reset() {
        topics.removeAll()
    }

    mutating func topicPartition(of message: rd_kafka_message_t) -> TopicPartition {
        unsafe TopicPartition(topic: topics[message.rkt], partition: message.partition)
    }

    /// - Parameter pointer: stays the caller's, who destroys it.
    mutating func record(_ pointer: UnsafeMutablePointer<rd_kafka_message_t>) -> ConsumerRecord {
        let message = unsafe pointer.pointee
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = unsafe rd_kafka_message_timestamp(pointer, &kind)
        return unsafe ConsumerRecord(
            topicPartition: topicPartition(of: message),
            offset: message.offset,
            timestampMilliseconds: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? nil : timestamp,
            key: bytes(message.key, message.key_len),
            value: bytes(message.payload, message.len),
            headers: headers(pointer)
        )
    }

    private func bytes(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
        guard let start = unsafe start else { return nil }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private func headers(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> [KafkaHeader] {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return []
        }
        var headers: [KafkaHeader] = []
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var count = 0
        while unsafe rd_kafka_header_get_all(list, headers.count, &name, &value, &count)
            == RD_KAFKA_RESP_ERR_NO_ERROR
        {
            guard let name = unsafe name else { break }
            let nameBytes = unsafe Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
            headers.append(
                unsafe KafkaHeader(nameBytes: nameBytes, value: bytes(value, count))
            )
        }
        return headers
    }
}
