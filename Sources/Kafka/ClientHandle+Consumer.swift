import CRDKafka

extension ClientHandle {
    /// Hands a commit to librdkafka, whose background thread reports on it under `number`.
    func sendCommit(_ commits: [TopicPartition: OffsetCommit], number: Int) -> KafkaError? {
        var list = PartitionList(reserving: commits.count)
        for (partition, commit) in commits {
            list.append(partition, commit: commit)
        }
        let queue = unsafe rd_kafka_queue_get_background(pointer)
        defer { unsafe rd_kafka_queue_destroy(queue) }
        let code = unsafe rd_kafka_commit_queue(
            pointer,
            list.pointer,
            queue,
            nil,
            UnsafeMutableRawPointer(bitPattern: number)
        )
        return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code)
    }

    func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe rd_kafka_get_watermark_offsets(
            pointer,
            partition.topic,
            partition.partition,
            &low,
            &high
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= 0 else { return nil }
        return Watermarks(low: low, high: high)
    }
}
