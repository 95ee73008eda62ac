import Kafka
import Records
import Store

/// Reads dead letters and their sources, and checks what would be sent; for one task at a time.
final class ReplayReader {
    private let names: ReplayNames
    private let letters: TopicScan
    private let sources: TopicScan
    let admin: KafkaAdmin
    private let vouched: VouchedLetters
    private let isPreview: Bool
    /// The reason for which a preview has not compared the sources.
    ///
    /// `nil` if they were compared.
    private(set) var sourcesNote: String?
    private var partitionCounts: [String: Int] = [:]

    private init(
        _ names: ReplayNames, _ vouched: VouchedLetters, letters: TopicScan, sources: TopicScan, admin: KafkaAdmin,
        isPreview: Bool
    ) {
        self.names = names
        self.isPreview = isPreview
        self.vouched = vouched
        self.admin = admin
        self.letters = letters
        self.sources = sources
    }

    /// Lends a reader to `body`, and closes its clients afterwards.
    ///
    /// - Parameter isPreview: whether the sources may stay unread for want of the right: an auditor
    ///   who sends nothing does not need it.
    static func with<Value>(
        _ names: ReplayNames, _ vouched: VouchedLetters, isPreview: Bool = false,
        _ body: (ReplayReader) async throws -> Value
    ) async throws -> Value {
        try await KafkaAdmin.with(names.kafka) { admin in
            try await TopicScan.with(names.kafka) { letters in
                // A client for itself: a topic without the right to read it fails every poll.
                try await TopicScan.with(names.kafka) { sources in
                    try await body(
                        ReplayReader(
                            names, vouched, letters: letters, sources: sources, admin: admin, isPreview: isPreview))
                }
            }
        }
    }

    /// The number of a topic's partitions.
    ///
    /// `nil` if the topic does not exist.
    func partitionCount(_ topic: String) async throws -> Int? {
        if partitionCounts[topic] == nil {
            // For all topics: a request for one creates it on brokers with automatic creation.
            let metadata = try await admin.metadata(deadline: Self.deadline)
            for topic in metadata.topics where topic.error == nil { partitionCounts[topic.name] = topic.partitionCount }
        }
        return partitionCounts[topic]
    }

    /// The originals of these letters, in their order.
    ///
    /// - Parameter redactions: the redacted letters, as recorded by now.
    func originals(of ids: [String], redactions: Set<String>) async throws -> [Result<ReplayedOriginal, Unsendable>] {
        let links = ids.map { id in
            Result<ChainLetter, Unsendable> { () throws(Unsendable) in try vouched.letter(id, redactions: redactions) }
        }
        let found = try await held(links.compactMap { try? names.position(of: $0.get()) }, by: letters)
        let read = links.map { link in
            link.flatMap { link in Result { () throws(Unsendable) in try letter(found[names.position(of: link)], link) }
            }
        }
        let bodies = try await sources(at: read.compactMap { try? $0.get().body })
        return read.map { result in
            result.flatMap { read in
                Result { () throws(Unsendable) in
                    try ReplayedOriginal(
                        read.letter, read.record, stage: read.stage, found: read.body.flatMap { bodies[$0] })
                }
            }
        }
    }

    private func sources(at positions: [RecordPosition]) async throws -> [RecordPosition: ConsumerRecord] {
        guard sourcesNote == nil else { return [:] }
        do { return try await held(positions, by: sources) } catch let error as KafkaError
            where isPreview && error.code == .unauthorized
        {
            sourcesNote = "the letters are not compared with their sources before they are sent: \(error)"
            return [:]
        }
    }

    /// The records at these positions, in partitions that may be gone.
    private func held(_ positions: [RecordPosition], by scan: TopicScan) async throws -> [RecordPosition:
        ConsumerRecord]
    {
        var held: Set<RecordPosition> = []
        for position in positions {
            let count = try await partitionCount(position.topic) ?? 0
            if (0..<count).contains(Int(position.partition)), position.offset >= 0 { held.insert(position) }
        }
        return held.isEmpty ? [:] : try await scan.records(at: held, asking: admin)
    }

    private typealias Letter = (
        letter: DeadLetter, record: ConsumerRecord, stage: StageDescription,
        /// The body's position; `nil` if the letter names none.
        body: RecordPosition?
    )

    /// The letter of a link, from the record at its position.
    private func letter(_ record: ConsumerRecord?, _ link: ChainLetter) throws(Unsendable) -> Letter {
        guard let record, let letter = try? DeadLetter(decoding: record),
            ChainLetter(letter, record, hasOriginal: false) == link
        else { throw Unsendable(.gone, "the dead-letter topic no longer holds it") }
        let stage = names.stages[letter.source.topic]
        let body = stage?.readsObservations == true ? letter.raw : letter.source
        guard let stage, body.map({ $0.topic == names.rawTopic }) ?? true else {
            let topic = stage == nil ? letter.source.topic : body?.topic ?? ""
            throw Unsendable(.noStage, "no stage reads \(topic) (topics begin with \(names.topicPrefix))")
        }
        return (letter, record, stage, body)
    }

    private static let deadline = Duration.seconds(30)
}
