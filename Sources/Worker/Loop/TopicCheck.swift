import Kafka
import Records
import Settings
import Telemetry

/// Compares the topics with what the pipeline needs of them, and reports what is wrong.
struct TopicCheck: Sendable {
    /// One thing that is wrong.
    enum Finding: Equatable, Sendable {
        case missing(topic: String)
        case tooSmall(topic: String, recordBytes: Int, recordBytesMin: Int)
    }

    let needs: [TopicNeed]
    private let inputTopics: Set<String>

    init(_ configuration: WorkerConfiguration) {
        inputTopics = Set(configuration.inputTopics)
        needs =
            (configuration.inputTopics + configuration.outputTopics).map { TopicNeed(topic: $0) }
            + (configuration.stage.refusesRecords
                ? [TopicNeed(topic: configuration.deadLetterTopic, isOfDeadLetters: true)] : [])
    }

    /// The topics to be written that do not exist; those to be read the consumer reports itself.
    func missing(in metadata: ClusterMetadata) -> [Finding] {
        let present = Set(metadata.topics.filter { $0.error == nil }.map(\.name))
        return needs.map(\.topic)
            .filter { !present.contains($0) && !inputTopics.contains($0) }
            .map { .missing(topic: $0) }
    }

    func tooSmall(_ settings: [String: [String: TopicSetting]]) -> [Finding] {
        needs.compactMap { need in
            guard let setting = settings[need.topic]?["max.message.bytes"],
                let bytes = Int(setting.value), bytes < need.recordBytesMin
            else { return nil }
            return .tooSmall(
                topic: need.topic,
                recordBytes: bytes,
                recordBytesMin: need.recordBytesMin
            )
        }
    }
}

extension WorkerLoop {
    /// Checks that all topics exist, then their size limits; reports each problem once.
    ///
    /// The limits, and the partition count of the dead-letter topic, are read again at intervals
    /// and after a record was refused for its size.
    ///
    /// It requests all topics at once, because a request for a single one may create it.
    func checkTopics() async {
        let check = TopicCheck(configuration)
        // The producer's properties of the connection fit any client.
        let made = await repeating(.connection) {
            try KafkaAdmin(configuration: configuration.producerProperties)
        }
        guard let admin = made else { return }
        limits.setSource {
            let answer = try? await admin.topicConfigurations(
                check.needs.map(\.topic),
                deadline: Self.limitsDeadline
            )
            return answer?.value
        }
        var reported: [TopicCheck.Finding] = []
        while !Task.isCancelled {
            if let metadata = try? await admin.metadata(deadline: configuration.callDeadline) {
                read(metadata)
                let missing = check.missing(in: metadata)
                for finding in missing where !reported.contains(finding) {
                    report(finding)
                }
                reported = missing
                if missing.isEmpty { break }
            }
            try? await Task.sleep(for: .seconds(3))
        }
        if !Task.isCancelled {
            await checkSizes(check, admin)
        }
        while !Task.isCancelled {
            await limitsSignal.wait(for: Self.limitsInterval)
            guard !Task.isCancelled else { break }
            if let metadata = try? await admin.metadata(deadline: configuration.callDeadline) {
                read(metadata)
            }
            await limits.askAgain()
        }
        await admin.close()
    }

    private static let limitsInterval = Duration.seconds(60)

    /// While a record waits to be refused by what the broker answers.
    private static let limitsDeadline = Duration.seconds(5)

    private func checkSizes(_ check: TopicCheck, _ admin: KafkaAdmin) async {
        let topics = check.needs.map(\.topic)
        let answer = try? await admin.topicConfigurations(
            topics,
            deadline: configuration.callDeadline
        )
        switch answer {
        case .answered(let settings):
            limits.read(settings)
            check.tooSmall(settings).forEach(report)
        case .unanswered(let error):
            log.info(
                "topic configurations unavailable, max.message.bytes not checked",
                ["error": "\(error)"]
            )
        case nil:
            log.info("topic configurations unavailable, max.message.bytes not checked")
        }
    }

    /// Brokers answer alike about a topic that is not there and one that a client may not see.
    static func reportMissing(_ topic: String, _ log: Log) {
        log.warning(
            "topic missing or not authorized, waiting for it",
            ["kafka.topic": .string(topic)]
        )
    }

    private func report(_ finding: TopicCheck.Finding) {
        switch finding {
        case .missing(let topic):
            Self.reportMissing(topic, log)
        case .tooSmall(let topic, let bytes, let bytesMin):
            log.error(
                "max.message.bytes too small",
                [
                    "kafka.topic": .string(topic),
                    "kafka.max_message_bytes": .int(bytes),
                    "kafka.max_message_bytes_wanted": .int(bytesMin),
                ]
            )
        }
    }
}

extension KafkaCheck {
    /// Tries the brokers with a stage's credentials, its topics and its group.
    static func findings(
        _ settings: SettingsValues,
        _ stage: StageDescription
    ) async -> [ConnectionFinding] {
        let configuration = WorkerConfiguration(settings, stage)
        return await findings(
            configuration.producerProperties,
            needs: TopicCheck(configuration).needs,
            group: (settings.group(stage), configuration.inputTopics)
        )
    }
}
