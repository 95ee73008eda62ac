import CRDKafka

extension ClusterMetadata {
    init(_ metadata: rd_kafka_metadata) {
        brokerCount = Int(unsafe metadata.broker_cnt)
        topics = (0..<Int(unsafe metadata.topic_cnt)).map { index in
            let topic = unsafe metadata.topics[index]
            let code = unsafe topic.err
            return unsafe TopicMetadata(
                name: String(optionalCString: topic.topic),
                partitionCount: Int(topic.partition_cnt),
                error: code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
            )
        }
    }
}
