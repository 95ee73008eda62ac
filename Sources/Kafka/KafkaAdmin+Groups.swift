import CRDKafka

extension KafkaAdmin {
    /// The names of all consumer groups.
    package func consumerGroups(
        deadline: Duration
    ) async throws(KafkaError) -> KafkaAnswer<[String]> {
        try await answer(within: deadline) { client throws(KafkaError) in
            let request = AdminRequest(
                client,
                RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS,
                deadline: deadline
            )
            return unsafe try request.answer { client, options, queue in
                unsafe rd_kafka_ListConsumerGroups(client, options, queue)
            } read: { event throws(KafkaError) in
                unsafe try Self.names(rd_kafka_event_ListConsumerGroups_result(event))
            }
        }
    }

    private static func names(_ result: OpaquePointer?) throws(KafkaError) -> [String] {
        var errorCount = 0
        let errors = unsafe rd_kafka_ListConsumerGroups_result_errors(result, &errorCount)
        if errorCount > 0, let error = unsafe errors?[0] {
            let words = unsafe String(optionalCString: rd_kafka_error_string(error))
            throw unsafe KafkaError(rd_kafka_error_code(error), message: words)
        }
        var count = 0
        let groups = unsafe rd_kafka_ListConsumerGroups_result_valid(result, &count)
        return (0..<count).compactMap { index in
            guard let group = unsafe groups?[index] else { return nil }
            return unsafe String(optionalCString: rd_kafka_ConsumerGroupListing_group_id(group))
        }
    }

    /// What a group has committed, with its metadata, whether it has members or not.
    ///
    /// Asked by a client of that group, which does not join it: librdkafka's admin call for it ends
    /// the process where the coordinator has moved or is not there yet (its issue 5040).
    ///
    /// - Parameter partitions: those without a commit are in the result with offset nil.
    package func committedOffsets(
        group: String,
        _ partitions: [TopicPartition],
        deadline: Duration
    ) async throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        guard !partitions.isEmpty else { return [:] }
        return try await questions(ofGroup: group).committed(partitions, deadline: deadline)
    }
}
