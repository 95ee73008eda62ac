import Kafka

/// The Kafka checks of `--check --connect`.
package enum KafkaCheck {
    private static let deadline = Duration.seconds(10)
    /// The deadline for reading the topics' settings, without which the check can continue.
    private static let settingsDeadline = Duration.seconds(5)

    /// Checks the brokers and the topics of a program.
    ///
    /// - Parameters:
    ///   - properties: the librdkafka properties of the program's clients.
    ///   - needs: the topics with their required settings.
    ///   - group: the program's consumer group and its topics; `nil` without a group.
    package static func findings(
        _ properties: [String: String], needs: [TopicNeed], group: (name: String, topics: [String])? = nil
    ) async -> [ConnectionFinding] {
        let servers = properties["bootstrap.servers"] ?? ""
        do {
            let admin = try KafkaAdmin(configuration: properties)
            let findings = await findings(admin, of: servers, needs: needs, group: group)
            await admin.close()
            return findings
        } catch { return [.wrong("Kafka", exitCode: error.exitCode, "\(error)")] }
    }

    private static func findings(
        _ admin: KafkaAdmin, of servers: String, needs: [TopicNeed], group: (name: String, topics: [String])?
    ) async -> [ConnectionFinding] {
        let metadata: ClusterMetadata
        do {
            // Request the metadata of all topics: a request for one topic may create it.
            metadata = try await admin.metadata(deadline: deadline)
        } catch { return [refusal(by: servers, error)] }
        let brokers = metadata.brokerIDs.count
        let answer = ConnectionFinding.fine("Kafka", "\(brokers) broker(s) at \(servers)")
        let names = needs.map(\.topic).filter { metadata.holds($0) }
        let told = try? await admin.topicConfigurations(names, deadline: settingsDeadline).value
        let settings = (told ?? [:]).mapValues { $0.mapValues(\.value) }
        let topics = needs.map { finding($0, metadata, settings: settings) }
        guard let group else { return [answer] + topics }
        return [answer] + topics + [await finding(admin, group, metadata: metadata)]
    }

    private static func refusal(by servers: String, _ error: KafkaError) -> ConnectionFinding {
        switch error.code {
        case .unauthenticated:
            .wrong(
                "Kafka", exitCode: ExitCode.configuration,
                "\(error); \(servers) refuses the credentials or certificates: see RDKAFKA_SASL_*, "
                    + "RDKAFKA_SSL_* and RDKAFKA_SECURITY_PROTOCOL")
        default:
            .wrong(
                "Kafka", exitCode: error.exitCode,
                "no answer from \(servers): \(error); see kafka.bootstrap (KAFKA_BOOTSTRAP) and "
                    + "whether the brokers expect TLS (RDKAFKA_SECURITY_PROTOCOL)")
        }
    }

    private static func finding(_ need: TopicNeed, _ metadata: ClusterMetadata, settings: [String: [String: String]])
        -> ConnectionFinding
    {
        let subject = "topic \(need.topic)"
        guard metadata.holds(need.topic), let topic = metadata[topic: need.topic] else {
            return .wrong(
                subject, exitCode: ExitCode.unavailable,
                "missing or not authorized: create it with 'pipeline topics', or give the "
                    + "principal its rights with 'pipeline grants'; kafka.topic_prefix "
                    + "(KAFKA_TOPIC_PREFIX) begins its name")
        }
        let partitions = "\(topic.partitionCount) partition(s)"
        guard let found = settings[need.topic] else {
            return .fine(subject, "\(partitions); the brokers do not tell its settings")
        }
        let harm = need.harm(found).map(\.deviation)
        guard harm.isEmpty else {
            return .wrong(
                subject, exitCode: ExitCode.configuration,
                "\(harm.joined(separator: ", ")): run 'pipeline topics --alter'")
        }
        return .fine(subject, partitions)
    }

    private static func finding(
        _ admin: KafkaAdmin, _ group: (name: String, topics: [String]), metadata: ClusterMetadata
    ) async -> ConnectionFinding {
        let subject = "group \(group.name)"
        let partitions = group.topics.filter { metadata.holds($0) }.flatMap { metadata[topic: $0]?.partitions ?? [] }
        do {
            _ = try await admin.committedOffsets(group: group.name, partitions, deadline: deadline)
            return .fine(subject, "answers")
        } catch {
            let advice = error.code == .unauthorized ? ": give the principal its rights with 'pipeline grants'" : ""
            return .wrong(subject, exitCode: error.exitCode, "\(error)\(advice)")
        }
    }
}

extension ClusterMetadata {
    /// Whether a topic exists and this client may see it.
    fileprivate func holds(_ topic: String) -> Bool {
        self[topic: topic].map { $0.error == nil && $0.partitionCount > 0 } ?? false
    }
}
