import Kafka
import Records
import Settings
import Telemetry

/// A check that topics exist and accept records of the required size.
struct TopicCheck: Sendable {
    /// A problem of a topic.
    enum Finding: Equatable, Sendable {
        case missing(topic: String)
        case tooSmall(topic: String, recordBytes: Int, recordBytesMin: Int)
    }

    let needs: [TopicNeed]
    private let inputTopics: Set<String>

    init(_ configuration: WorkerConfiguration) {
        inputTopics = Set(configuration.inputTopics)
        let letters = configuration.stage.refusesRecords ? [configuration.deadLetterTopic] : []
        let topics = configuration.inputTopics + configuration.outputTopics + letters
        needs = topics.map(configuration.need)
    }

    /// Returns the missing output topics; the consumer reports missing input topics.
    func missing(in metadata: ClusterMetadata) -> [Finding] {
        let present = Set(metadata.topics.filter { $0.error == nil }.map(\.name))
        return needs.map(\.topic).filter { !present.contains($0) && !inputTopics.contains($0) }.map {
            .missing(topic: $0)
        }
    }

    /// - Parameter limits: the value of `max.message.bytes` of each topic.
    func tooSmall(_ limits: [String: Int]) -> [Finding] {
        needs.compactMap { need in
            guard let bytes = limits[need.topic], bytes < need.recordBytesMin else { return nil }
            return .tooSmall(topic: need.topic, recordBytes: bytes, recordBytesMin: need.recordBytesMin)
        }
    }
}

extension WorkerLoop {
    /// Checks that all topics exist, then their size limits; reports each problem once.
    ///
    /// The limits, and the partition count of the dead-letter topic, are read again at intervals and after a record
    /// was refused for its size. A failed request is thus repeated, and a limit that is lowered later is reported too.
    ///
    /// The function requests all topics at once, because a request for a single topic may create it.
    func checkTopics() async {
        let check = TopicCheck(configuration)
        // The producer's connection properties are valid for any client.
        let made = await makingClient { try KafkaAdmin(configuration: configuration.producerProperties) }
        guard let admin = made else { return }
        limits.setSource {
            let answer = try? await admin.topicConfigurations(check.needs.map(\.topic), deadline: Self.limitsDeadline)
            return answer?.value
        }
        var reportedMissing: [TopicCheck.Finding] = []
        while !Task.isCancelled {
            if let metadata = try? await admin.metadata(deadline: configuration.callDeadline) {
                read(metadata)
                let missing = check.missing(in: metadata)
                reportNew(missing, &reportedMissing)
                if missing.isEmpty { break }
            }
            try? await Task.sleep(for: .seconds(3))
        }
        if !Task.isCancelled { await readLimits(check, admin) }
        var reportedTooSmall: [TopicCheck.Finding] = []
        while !Task.isCancelled {
            reportNew(check.tooSmall(limits.known), &reportedTooSmall)
            await limitsSignal.wait(for: Self.limitsInterval)
            guard !Task.isCancelled else { break }
            if let metadata = try? await admin.metadata(deadline: configuration.callDeadline) { read(metadata) }
            await limits.askAgain()
        }
        await admin.close()
    }

    private static let limitsInterval = Duration.seconds(60)

    /// The deadline is short, because a record may be waiting for the answer.
    private static let limitsDeadline = Duration.seconds(5)

    private func readLimits(_ check: TopicCheck, _ admin: KafkaAdmin) async {
        let topics = check.needs.map(\.topic)
        let answer = try? await admin.topicConfigurations(topics, deadline: configuration.callDeadline)
        switch answer {
        case .answered(let settings):
            limits.read(settings)
            for need in check.needs { need.harm(settings[need.topic]?.mapValues(\.value) ?? [:]).forEach(report) }
        case .unanswered(let error):
            log.info("topic configurations unavailable, max.message.bytes not checked", ["error": "\(error)"])
        case nil: log.info("topic configurations unavailable, max.message.bytes not checked")
        }
    }

    /// Reports a topic that is missing or hidden, for which brokers give the same answer.
    static func reportMissing(_ topic: String, _ log: Log) {
        log.warning("topic missing or not authorized, waiting for it", ["kafka.topic": .string(topic)])
    }

    private func report(_ harm: TopicDifference) {
        log.error(
            "topic setting harmful, change it by pipeline topics --alter",
            [
                "kafka.topic": .string(harm.topic), "kafka.setting": .string(harm.property),
                "setting.found": .string(harm.found), "setting.expected": .string(harm.planned),
            ])
    }

    /// Reports the findings that are new since the previous check.
    private func reportNew(_ findings: [TopicCheck.Finding], _ reported: inout [TopicCheck.Finding]) {
        for finding in findings where !reported.contains(finding) { report(finding) }
        reported = findings
    }

    private func report(_ finding: TopicCheck.Finding) {
        switch finding {
        case .missing(let topic): Self.reportMissing(topic, log)
        case .tooSmall(let topic, let bytes, let bytesMin):
            log.error(
                "max.message.bytes too small",
                [
                    "kafka.topic": .string(topic), "kafka.max_message_bytes": .int(bytes),
                    "kafka.max_message_bytes_wanted": .int(bytesMin),
                ])
        }
    }
}

extension KafkaCheck {
    /// Tests the connection to the brokers with the stage's credentials, topics and group.
    static func findings(_ settings: SettingsValues, _ stage: StageDescription) async -> [ConnectionFinding] {
        let configuration = WorkerConfiguration(settings, stage)
        return await findings(
            configuration.producerProperties, needs: TopicCheck(configuration).needs,
            group: (settings.group(stage), configuration.inputTopics))
    }
}
