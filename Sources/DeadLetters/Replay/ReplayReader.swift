import Kafka
import Records
import Store
import Topology
import Worker

/// Where a dead letter lies, and which it has to be.
struct LetterPlace: Sendable {
    let id: String
    let partition: Int32
    let offset: Int64

    init(_ row: DeadLetterRow) {
        id = row.id
        partition = row.letterPartition
        offset = row.letterOffset
    }

    init(_ row: ReplayRecordRow) {
        id = row.letterID
        partition = row.letterPartition
        offset = row.letterOffset
    }
}

/// Reads dead letters and, where they need it, their sources, and checks what would be sent.
///
/// For one task at a time; `close()` ends it.
final class ReplayReader {
    private let names: ReplayNames
    private let letters: RecordFetcher
    private let sources: RecordFetcher
    private let admin: KafkaAdmin
    private var partitionCounts: [String: Int] = [:]

    init(_ names: ReplayNames, admin: KafkaAdmin) throws {
        self.names = names
        self.admin = admin
        letters = try RecordFetcher(names.kafka, admin: admin)
        sources = try RecordFetcher(names.kafka, admin: admin)
    }

    func close() async {
        await letters.close()
        await sources.close()
    }

    /// How many partitions a topic has; nil where there is none of this name.
    func partitionCount(_ topic: String) async throws -> Int? {
        if partitionCounts[topic] == nil {
            // About all topics: a question about one makes it, where the brokers are set up so.
            let metadata = try await admin.metadata(deadline: Self.deadline)
            for topic in metadata.topics where topic.error == nil {
                partitionCounts[topic.name] = topic.partitionCount
            }
        }
        return partitionCounts[topic]
    }

    /// What is to be sent for each of these letters, in their order.
    func originals(
        of places: [LetterPlace]
    ) async throws -> [Result<ReplayedOriginal, Unsendable>] {
        let positions = places.map { names.position(of: $0) }
        let found = try await letters.records(at: positions)
        let read = zip(places, positions).map { place, position in
            Self.letter(found[position], place, names)
        }
        var needed: [RecordPosition] = []
        for case .success(let (letter, _, stage)) in read
        where ReplayedOriginal.needsSource(letter, stage) {
            let count = try await partitionCount(letter.source.topic) ?? 0
            if letter.source.partition < count {
                needed.append(letter.source)
            }
        }
        let sources = needed.isEmpty ? [:] : try await sources.records(at: needed)
        return read.map { result in
            result.flatMap { letter, record, stage in
                do throws(Unsendable) {
                    let source = sources[letter.source]
                    return .success(
                        try ReplayedOriginal(letter, record, stage: stage, source: source)
                    )
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    private typealias Letter = (DeadLetter, ConsumerRecord, StageDescription)

    private static func letter(
        _ record: ConsumerRecord?,
        _ place: LetterPlace,
        _ names: ReplayNames
    ) -> Result<Letter, Unsendable> {
        guard let record else {
            return .failure(Unsendable("the dead-letter topic no longer holds it"))
        }
        guard let letter = try? DeadLetter(decoding: record),
            StorableText.of(letter.id) == place.id
        else {
            return .failure(
                Unsendable("another record lies in its place: run 'dead-letter index --rebuild'")
            )
        }
        guard let stage = names.stages[letter.source.topic] else {
            let prefix = names.topicPrefix
            return .failure(
                Unsendable("no stage reads \(letter.source.topic) (topics begin with \(prefix))")
            )
        }
        return .success((letter, record, stage))
    }

    private static let deadline = Duration.seconds(30)
}

/// The names of topics and groups, and how Kafka is reached.
package struct ReplayNames: Sendable {
    /// librdkafka's properties, bootstrap servers included.
    package let kafka: [String: String]
    package let topicPrefix: String
    package let groupPrefix: String

    package init(kafka: [String: String], topicPrefix: String, groupPrefix: String) {
        self.kafka = kafka
        self.topicPrefix = topicPrefix
        self.groupPrefix = groupPrefix
    }

    var deadLetterTopic: String { topicPrefix + Topic.deadLetter }

    /// The stages by the topics that they read: nothing else is ever written to.
    var stages: [String: StageDescription] {
        Dictionary(
            uniqueKeysWithValues: Topology.stages.map { (topicPrefix + $0.inputTopic, $0) }
        )
    }

    func group(_ stage: StageDescription) -> String { groupPrefix + stage.name }

    func position(of place: LetterPlace) -> RecordPosition {
        RecordPosition(topic: deadLetterTopic, partition: place.partition, offset: place.offset)
    }
}
