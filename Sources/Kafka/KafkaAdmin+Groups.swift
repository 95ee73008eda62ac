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
    /// - Parameter partitions: those without a commit are in the result with offset nil.
    package func committedOffsets(
        group: String,
        _ partitions: [TopicPartition],
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        guard !partitions.isEmpty else { return [:] }
        let client = try opened()
        let list = PartitionList(partitions)
        var questions = unsafe [rd_kafka_ListConsumerGroupOffsets_new(group, list.pointer)]
        defer {
            unsafe rd_kafka_ListConsumerGroupOffsets_destroy_array(&questions, questions.count)
        }
        let request = AdminRequest(
            client,
            RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS,
            deadline: deadline
        )
        return unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_ListConsumerGroupOffsets(client, &questions, 1, options, queue)
        } read: { event throws(KafkaError) in
            let result = unsafe rd_kafka_event_ListConsumerGroupOffsets_result(event)
            return unsafe try Self.committed(result)
        }
    }

    private static func committed(
        _ result: OpaquePointer?
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        var count = 0
        let groups = unsafe rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count)
        guard count > 0, let group = unsafe groups?[0] else { return [:] }
        if let error = unsafe rd_kafka_group_result_error(group) {
            let words = unsafe String(optionalCString: rd_kafka_error_string(error))
            throw unsafe KafkaError(rd_kafka_error_code(error), message: words)
        }
        var committed: [TopicPartition: CommittedOffset] = [:]
        for element in unsafe PartitionList.elements(of: rd_kafka_group_result_partitions(group)) {
            if let error = element.error { throw error }
            committed[element.topicPartition] = element.committed
        }
        return committed
    }
}
