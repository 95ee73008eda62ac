import CRDKafka

extension KafkaAdmin {
    /// Creates topics; the result contains each topic's own failure, including `topicAlreadyExists`.
    package func createTopics(_ topics: [NewTopic], deadline: Duration) throws(KafkaError) -> [String: KafkaError] {
        guard !topics.isEmpty else { return [:] }
        let client = try opened()
        var made: [OpaquePointer?] = unsafe []
        defer { unsafe rd_kafka_NewTopic_destroy_array(&made, made.count) }
        for topic in topics { unsafe made.append(try Self.make(topic)) }
        let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, deadline: deadline)
        return unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_CreateTopics(client, &made, made.count, options, queue)
        } read: { event in
            var count = 0
            let result = unsafe rd_kafka_event_CreateTopics_result(event)
            let results = unsafe rd_kafka_CreateTopics_result_topics(result, &count)
            return unsafe Self.failures(results, count)
        }
    }

    private static func make(_ topic: NewTopic) throws(KafkaError) -> OpaquePointer {
        var made: OpaquePointer?
        let reason = unsafe ErrorText.written { text, count in
            unsafe made = rd_kafka_NewTopic_new(
                topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replication), text, count)
        }
        guard let made = unsafe made else {
            throw KafkaError(code: .invalidArgument, name: "INVALID_TOPIC", message: reason)
        }
        for (name, value) in topic.configuration { _ = unsafe rd_kafka_NewTopic_set_config(made, name, value) }
        return unsafe made
    }

    static func failures(_ results: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int) -> [String: KafkaError] {
        var failures: [String: KafkaError] = [:]
        for index in 0..<count {
            guard let result = unsafe results?[index] else { continue }
            let code = unsafe rd_kafka_topic_result_error(result)
            guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
            let name = unsafe String(optionalCString: rd_kafka_topic_result_name(result))
            let words = unsafe String(optionalCString: rd_kafka_topic_result_error_string(result))
            failures[name] = KafkaError(code, message: words)
        }
        return failures
    }

    /// The topics' settings on the broker, such as `max.message.bytes`.
    ///
    /// A topic whose request fails, for example because the topic does not exist, is left out.
    package func topicConfigurations(_ topics: [String], deadline: Duration) async throws(KafkaError) -> KafkaAnswer<
        [String: [String: TopicSetting]]
    > {
        guard !topics.isEmpty else { return .answered([:]) }
        return try await answer(within: deadline) { client throws(KafkaError) in
            var resources = unsafe topics.map { unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
            defer { unsafe rd_kafka_ConfigResource_destroy_array(&resources, resources.count) }
            let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, deadline: deadline)
            return unsafe try request.answer { client, options, queue in
                unsafe rd_kafka_DescribeConfigs(client, &resources, resources.count, options, queue)
            } read: { event throws(KafkaError) in
                unsafe try Self.settings(rd_kafka_event_DescribeConfigs_result(event))
            }
        }
    }

    private static func settings(_ result: OpaquePointer?) throws(KafkaError) -> [String: [String: TopicSetting]] {
        var count = 0
        let resources = unsafe rd_kafka_DescribeConfigs_result_resources(result, &count)
        var settings: [String: [String: TopicSetting]] = [:]
        for index in 0..<count {
            guard let resource = unsafe resources?[index] else { continue }
            let code = unsafe rd_kafka_ConfigResource_error(resource)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                let error = KafkaError(code)
                if error.code == .unauthorized { throw error }
                continue
            }
            let name = unsafe String(optionalCString: rd_kafka_ConfigResource_name(resource))
            settings[name] = unsafe entries(resource)
        }
        return settings
    }

    private static func entries(_ resource: OpaquePointer) -> [String: TopicSetting] {
        var count = 0
        let list = unsafe rd_kafka_ConfigResource_configs(resource, &count)
        var entries: [String: TopicSetting] = [:]
        for index in 0..<count {
            guard let entry = unsafe list?[index] else { continue }
            let name = unsafe String(optionalCString: rd_kafka_ConfigEntry_name(entry))
            let source = unsafe rd_kafka_ConfigEntry_source(entry)
            entries[name] = unsafe TopicSetting(
                value: String(optionalCString: rd_kafka_ConfigEntry_value(entry)),
                isSetOnTopic: source == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG)
        }
        return entries
    }

    /// Changes some settings of a topic and keeps its other settings.
    ///
    /// The old AlterConfigs request replaces all settings, so the current settings are read first; two simultaneous
    /// callers may undo each other's changes.
    package func setTopicConfiguration(_ topic: String, _ changes: [String: String], deadline: Duration)
        async throws(KafkaError) -> KafkaAnswer<Bool>
    {
        guard case .answered(let all) = try await topicConfigurations([topic], deadline: deadline),
            let present = all[topic]
        else {
            return .unanswered(
                KafkaError(
                    code: .unsupported, name: "NOT_DESCRIBED",
                    message: "the broker does not tell the settings of topic \(topic)"))
        }
        let kept = present.filter { $0.value.isSetOnTopic }.mapValues(\.value)
        let wanted = kept.merging(changes) { $1 }
        guard wanted != kept else { return .answered(false) }
        return try await answer(within: deadline) { client throws(KafkaError) in
            var resources = unsafe [rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic)]
            defer { unsafe rd_kafka_ConfigResource_destroy_array(&resources, resources.count) }
            for (name, value) in wanted { _ = unsafe rd_kafka_ConfigResource_set_config(resources[0], name, value) }
            let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_ALTERCONFIGS, deadline: deadline)
            return unsafe try request.answer { client, options, queue in
                unsafe rd_kafka_AlterConfigs(client, &resources, resources.count, options, queue)
            } read: { event throws(KafkaError) in
                unsafe try Self.checkAltered(rd_kafka_event_AlterConfigs_result(event))
                return true
            }
        }
    }

    private static func checkAltered(_ result: OpaquePointer?) throws(KafkaError) {
        var count = 0
        let resources = unsafe rd_kafka_AlterConfigs_result_resources(result, &count)
        for index in 0..<count {
            guard let resource = unsafe resources?[index] else { continue }
            let code = unsafe rd_kafka_ConfigResource_error(resource)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                let words = unsafe rd_kafka_ConfigResource_error_string(resource)
                throw unsafe KafkaError(code, message: String(optionalCString: words))
            }
        }
    }
}

extension KafkaAdmin {
    /// Deletes topics with all their records; the result contains each topic's own failure.
    package func deleteTopics(_ topics: [String], deadline: Duration) throws(KafkaError) -> [String: KafkaError] {
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

/// A topic to be created.
package struct NewTopic: Sendable, Equatable {
    package let name: String
    package let partitions: Int
    /// Number of replicas; -1 means the broker's default.
    package let replication: Int
    /// The broker's topic settings, such as `retention.ms`.
    package let configuration: [String: String]

    package init(name: String, partitions: Int, replication: Int = -1, configuration: [String: String] = [:]) {
        self.name = name
        self.partitions = partitions
        self.replication = replication
        self.configuration = configuration
    }
}

/// A setting of a topic, as its broker reports it.
package struct TopicSetting: Sendable, Equatable {
    package let value: String
    /// Whether the setting is set on this topic, and is not a default of the broker.
    package let isSetOnTopic: Bool
}

extension KafkaAdmin {
    /// Adds partitions to topics.
    ///
    /// Existing records stay in their partitions; new records of the same key may go to another partition.
    ///
    /// - Parameter totals: the new number of partitions of each topic, greater than the current number.
    /// - Returns: the failure of each topic that failed.
    package func createPartitions(_ totals: [String: Int], deadline: Duration) throws(KafkaError) -> [String:
        KafkaError]
    {
        guard !totals.isEmpty else { return [:] }
        let client = try opened()
        var made: [OpaquePointer?] = unsafe []
        defer { unsafe rd_kafka_NewPartitions_destroy_array(&made, made.count) }
        for (topic, total) in totals {
            var one: OpaquePointer?
            let reason = unsafe ErrorText.written { text, count in
                unsafe one = rd_kafka_NewPartitions_new(topic, total, text, count)
            }
            guard let one = unsafe one else {
                throw KafkaError(code: .invalidArgument, name: "INVALID_PARTITIONS", message: reason)
            }
            unsafe made.append(one)
        }
        let request = AdminRequest(client, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, deadline: deadline)
        return unsafe try request.answer { client, options, queue in
            unsafe rd_kafka_CreatePartitions(client, &made, made.count, options, queue)
        } read: { event in
            var count = 0
            let result = unsafe rd_kafka_event_CreatePartitions_result(event)
            let results = unsafe rd_kafka_CreatePartitions_result_topics(result, &count)
            return unsafe Self.failures(results, count)
        }
    }
}
