import Kafka
import Records
import Store
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
        let found = try await held(positions, by: letters)
        let read = zip(places, positions).map { place, position in
            Self.letter(found[position], place, names)
        }
        let needed = read.compactMap { result -> RecordPosition? in
            guard case .success(let (letter, _, stage)) = result,
                ReplayedOriginal.needsSource(letter, stage)
            else { return nil }
            return letter.source
        }
        let sources = try await held(needed, by: sources)
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

    /// The records at these positions, in partitions that may be gone.
    private func held(
        _ positions: [RecordPosition],
        by fetcher: RecordFetcher
    ) async throws -> [RecordPosition: ConsumerRecord] {
        var held: [RecordPosition] = []
        for position in positions {
            let count = try await partitionCount(position.topic) ?? 0
            if (0..<count).contains(Int(position.partition)), position.offset >= 0 {
                held.append(position)
            }
        }
        return held.isEmpty ? [:] : try await fetcher.records(at: held)
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
        guard letter.source.partition >= 0, letter.source.offset >= 0 else {
            return .failure(Unsendable("its source is no position: it was altered"))
        }
        return .success((letter, record, stage))
    }

    private static let deadline = Duration.seconds(30)
}
