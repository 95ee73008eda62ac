import Kafka

/// Compares the topics with what the pipeline needs of them, and says what is wrong.
struct TopicCheck: Sendable {
    /// What a topic has to take, in bytes of one record.
    struct Need: Sendable, Equatable {
        let topic: String
        let recordBytesMin: Int
    }

    /// One thing that is wrong.
    enum Finding: Equatable, Sendable {
        case missing(topic: String)
        case tooSmall(topic: String, recordBytes: Int, recordBytesMin: Int)
    }

    /// A body at its limit of 1 MiB, decoded and with its headers, fits twice over.
    static let recordBytesMin = 2 << 20
    /// A dead letter carries the whole of a record beside what is said of it.
    static let deadLetterBytesMin = 3 << 20

    let needs: [Need]
    private let inputTopics: Set<String>

    init(_ configuration: WorkerConfiguration) {
        inputTopics = Set(configuration.inputTopics)
        needs =
            (configuration.inputTopics + configuration.outputTopics)
            .map { Need(topic: $0, recordBytesMin: Self.recordBytesMin) }
            + [
                Need(
                    topic: configuration.deadLetterTopic,
                    recordBytesMin: Self.deadLetterBytesMin
                )
            ]
    }

    /// The topics to be written that do not exist; of those to be read the consumer tells itself.
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
