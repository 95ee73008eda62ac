import Kafka

/// Kafka's part of `--check --connect`.
package enum KafkaCheck {
    private static let deadline = Duration.seconds(10)
    /// For the topics' settings, which the check can do without.
    private static let sizesDeadline = Duration.seconds(5)

    /// Tries the brokers and the topics of a program.
    ///
    /// - Parameters:
    ///   - properties: librdkafka's, of the program's clients.
    ///   - needs: the topics, with the sizes of the records that they must accept.
    ///   - group: the program's consumer group with the topics that it reads, if it has one.
    package static func findings(
        _ properties: [String: String],
        needs: [TopicNeed],
        group: (name: String, topics: [String])? = nil
    ) async -> [ConnectionFinding] {
        let servers = properties["bootstrap.servers"] ?? ""
        do {
            let admin = try KafkaAdmin(configuration: properties)
            let findings = await findings(admin, of: servers, needs: needs, group: group)
            await admin.close()
            return findings
        } catch {
            return [.wrong("Kafka", error.exitCode, "\(error)")]
        }
    }

    private static func findings(
        _ admin: KafkaAdmin,
        of servers: String,
        needs: [TopicNeed],
        group: (name: String, topics: [String])?
    ) async -> [ConnectionFinding] {
        let metadata: ClusterMetadata
        do {
            // For all topics: a question for one may create it.
            metadata = try await admin.metadata(deadline: deadline)
        } catch {
            return [refusal(by: servers, error)]
        }
        let brokers = metadata.brokerIDs.count
        let answer = ConnectionFinding.fine(
            "Kafka",
            "\(Quantity.counted(brokers, "broker")) at \(servers)"
        )
        let names = needs.map(\.topic).filter { metadata.holds($0) }
        let sizes = try? await admin.topicConfigurations(names, deadline: sizesDeadline).value
        let topics = needs.map { finding($0, metadata, sizes ?? [:]) }
        guard let group else { return [answer] + topics }
        return [answer] + topics + [await finding(admin, group, metadata)]
    }

    private static func refusal(by servers: String, _ error: KafkaError) -> ConnectionFinding {
        switch error.code {
        case .unauthenticated:
            .wrong(
                "Kafka",
                ExitCode.configuration,
                "\(error); \(servers) refuses the credentials or certificates: see RDKAFKA_SASL_*, "
                    + "RDKAFKA_SSL_* and RDKAFKA_SECURITY_PROTOCOL"
            )
        default:
            .wrong(
                "Kafka",
                error.exitCode,
                "no answer from \(servers): \(error); see kafka.bootstrap (KAFKA_BOOTSTRAP) and "
                    + "whether the brokers expect TLS (RDKAFKA_SECURITY_PROTOCOL)"
            )
        }
    }

    private static func finding(
        _ need: TopicNeed,
        _ metadata: ClusterMetadata,
        _ sizes: [String: [String: TopicSetting]]
    ) -> ConnectionFinding {
        let subject = "topic \(need.topic)"
        guard metadata.holds(need.topic), let topic = metadata[topic: need.topic] else {
            return .wrong(
                subject,
                ExitCode.unavailable,
                "missing or not authorized: create it with 'pipeline topics', or give the "
                    + "principal its rights with 'pipeline grants'; kafka.topic_prefix "
                    + "(KAFKA_TOPIC_PREFIX) begins its name"
            )
        }
        if let setting = sizes[need.topic]?["max.message.bytes"], let bytes = Int(setting.value),
            bytes < need.recordBytesMin
        {
            return .wrong(
                subject,
                ExitCode.configuration,
                "max.message.bytes is \(bytes), expected at least \(need.recordBytesMin): run "
                    + "'pipeline topics --alter'"
            )
        }
        return .fine(subject, Quantity.counted(topic.partitionCount, "partition"))
    }

    private static func finding(
        _ admin: KafkaAdmin,
        _ group: (name: String, topics: [String]),
        _ metadata: ClusterMetadata
    ) async -> ConnectionFinding {
        let subject = "group \(group.name)"
        let partitions = group.topics.filter { metadata.holds($0) }
            .flatMap { metadata[topic: $0]?.partitions ?? [] }
        do {
            _ = try await admin.committedOffsets(group: group.name, partitions, deadline: deadline)
            return .fine(subject, "answers")
        } catch {
            return .wrong(subject, error.exitCode, "\(error)")
        }
    }
}

/// A topic, and the size of one record in bytes that it must accept.
package struct TopicNeed: Sendable, Equatable {
    /// A body at its limit of 1 MiB, decoded and with its headers, fits twice over.
    private static let recordBytesMin = 2 << 20
    /// A dead letter carries the whole of a record beside its own headers.
    private static let deadLetterBytesMin = 3 << 20

    package let topic: String
    package let recordBytesMin: Int

    /// - Parameter isOfDeadLetters: whether the topic takes dead letters instead of records.
    package init(topic: String, isOfDeadLetters: Bool = false) {
        self.topic = topic
        recordBytesMin = isOfDeadLetters ? Self.deadLetterBytesMin : Self.recordBytesMin
    }
}

extension ClusterMetadata {
    /// Whether a topic is there, and this client may see it.
    fileprivate func holds(_ topic: String) -> Bool {
        self[topic: topic].map { $0.error == nil && $0.partitionCount > 0 } ?? false
    }
}
