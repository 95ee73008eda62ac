import CRDKafka

extension KafkaAdmin {
    /// Deletes topics with all they hold; each one's own failure is in the result.
    package func deleteTopics(
        _ topics: [String],
        deadline: Duration
    ) throws(KafkaError) -> [String: KafkaError] {
        guard !topics.isEmpty else { return [:] }
        let client = try opened()
        var doomed = unsafe topics.map { unsafe rd_kafka_DeleteTopic_new($0) }
        defer { unsafe rd_kafka_DeleteTopic_destroy_array(&doomed, doomed.count) }
        let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_DELETETOPICS, deadline: deadline)
        return unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_DeleteTopics(client, &doomed, doomed.count, options, queue)
        } read: { event in
            var count = 0
            let result = unsafe rd_kafka_event_DeleteTopics_result(event)
            let results = unsafe rd_kafka_DeleteTopics_result_topics(result, &count)
            return unsafe Self.failures(results, count)
        }
    }
}
