import Kafka

extension WorkerLoop {
    /// Looks at the topics until they are all there, then at their sizes; says each thing once.
    ///
    /// The sizes are read again now and then, and when a record was refused for its size.
    ///
    /// It asks for all topics at once, because a question for one may create it.
    func checkTopics() async {
        let check = TopicCheck(configuration)
        guard let admin = try? KafkaAdmin(configuration: adminProperties) else { return }
        var said: [TopicCheck.Finding] = []
        while !Task.isCancelled {
            if let metadata = try? await admin.metadata(deadline: configuration.callDeadline) {
                let missing = check.missing(in: metadata)
                for finding in missing where !said.contains(finding) {
                    say(finding)
                }
                said = missing
                if missing.isEmpty { break }
            }
            try? await Task.sleep(for: .seconds(3))
        }
        if !Task.isCancelled {
            await checkSizes(check, admin)
        }
        while !Task.isCancelled {
            await limitsBell.wait(for: Self.limitsInterval)
            guard !Task.isCancelled else { break }
            await readLimits(check, admin)
        }
        await admin.close()
    }

    private static let limitsInterval = Duration.seconds(60)

    /// What the operator has changed meanwhile.
    private func readLimits(_ check: TopicCheck, _ admin: KafkaAdmin) async {
        let answer = try? await admin.topicConfigurations(
            check.needs.map(\.topic),
            deadline: configuration.callDeadline
        )
        if let settings = answer?.value {
            limits.read(settings)
        }
    }

    private func checkSizes(_ check: TopicCheck, _ admin: KafkaAdmin) async {
        let topics = check.needs.map(\.topic)
        let answer = try? await admin.topicConfigurations(
            topics,
            deadline: configuration.callDeadline
        )
        switch answer {
        case .answered(let settings):
            limits.read(settings)
            check.tooSmall(settings).forEach(say)
        case .unanswered(let error):
            log.info(
                "the broker does not tell the topics' sizes, they are not checked",
                ["error": "\(error)"]
            )
        case nil:
            log.info("the topics' sizes could not be asked for, they are not checked")
        }
    }

    /// Brokers answer alike about a topic that is not there and one that a client may not see.
    static func sayMissing(_ topic: String, _ log: Log) {
        log.warning(
            "the topic does not exist or may not be seen, waiting for it",
            ["kafka.topic": .string(topic)]
        )
    }

    private func say(_ finding: TopicCheck.Finding) {
        switch finding {
        case .missing(let topic):
            Self.sayMissing(topic, log)
        case .tooSmall(let topic, let bytes, let bytesMin):
            log.error(
                "the topic takes too small records only, larger ones will be dead-lettered",
                [
                    "kafka.topic": .string(topic),
                    "kafka.max_message_bytes": .int(bytes),
                    "kafka.max_message_bytes_wanted": .int(bytesMin),
                ]
            )
        }
    }

    /// Those of the producer that concern the connection are good for any client.
    private var adminProperties: [String: String] {
        configuration.producerProperties
    }
}
