import CRDKafka

/// One entry of a `PartitionList`, copied out of it.
struct PartitionListElement {
    let topicPartition: TopicPartition
    /// As librdkafka gives it: negative numbers have meanings of their own.
    let offset: Int64
    let metadata: String
    let error: KafkaError?

    init(_ element: rd_kafka_topic_partition_t) {
        topicPartition = TopicPartition(
            topic: unsafe String(optionalCString: element.topic),
            partition: unsafe element.partition
        )
        offset = unsafe element.offset
        let bytes = unsafe UnsafeRawBufferPointer(
            start: element.metadata,
            count: element.metadata == nil ? 0 : element.metadata_size
        )
        metadata = unsafe String(decoding: bytes, as: UTF8.self)
        let code = unsafe element.err
        error = code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    }

    var committed: CommittedOffset {
        CommittedOffset(offset: offset < 0 ? nil : offset, metadata: metadata)
    }
}
