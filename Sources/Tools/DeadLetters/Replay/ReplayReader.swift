import Kafka
import Records
import Store

/// Reads dead letters and their sources, and checks what would be sent.
///
/// Only one task at a time may use a reader.
final class ReplayReader {
    private let names: ReplayNames
    private let letters: TopicScan
    private let sources: TopicScan
    let admin: KafkaAdmin
    private let ids: Set<String>
    /// The positions of the letters that the index holds, by their IDs.
    private let positions: [String: RecordPosition]
    /// The letters that a verified chain holds, read when the first letter needs them.
    private var vouched: VouchedLetters?
    private let isPreview: Bool
    /// The reason why a preview has not compared the sources.
    ///
    /// `nil` if they were compared.
    private(set) var sourcesNote: String?
    private var partitionCounts: [String: Int] = [:]

    private init(
        _ names: ReplayNames, ids: Set<String>, rows: [DeadLetterRow], letters: TopicScan, sources: TopicScan,
        admin: KafkaAdmin, isPreview: Bool
    ) {
        self.names = names
        self.ids = ids
        self.isPreview = isPreview
        positions = Dictionary(rows.map { ($0.id, names.position($0.letterPartition, $0.letterOffset)) }) { $1 }
        self.admin = admin
        self.letters = letters
        self.sources = sources
    }

    /// Lends a reader to `body`, and closes its clients afterwards.
    ///
    /// - Parameters:
    ///   - ids: the IDs of all letters that `body` asks for.
    ///   - rows: the index's rows of these letters.
    ///   - isPreview: whether the sources may stay unread if the right to read them is missing,
    ///     which an auditor who sends nothing does not need.
    static func with<Value>(
        _ names: ReplayNames, _ ids: Set<String>, rows: [DeadLetterRow], isPreview: Bool = false,
        body: (ReplayReader) async throws -> Value
    ) async throws -> Value {
        try await KafkaAdmin.with(names.kafka) { admin in
            try await TopicScan.with(names.kafka) { letters in
                // Sources have a client of their own: a topic without the right to read it fails every poll.
                try await TopicScan.with(names.kafka) { sources in
                    try await body(
                        ReplayReader(
                            names, ids: ids, rows: rows, letters: letters, sources: sources, admin: admin,
                            isPreview: isPreview))
                }
            }
        }
    }

    /// The number of a topic's partitions.
    ///
    /// `nil` if the topic does not exist.
    func partitionCount(_ topic: String) async throws -> Int? {
        if partitionCounts[topic] == nil {
            // All topics are requested, because a request for one topic creates it on brokers with automatic creation.
            let metadata = try await admin.metadata(deadline: Self.deadline)
            for topic in metadata.topics where topic.error == nil { partitionCounts[topic.name] = topic.partitionCount }
        }
        return partitionCounts[topic]
    }

    /// The originals of these letters, in their order.
    ///
    /// A body that is still in the topic `raw` is sent from there: it is verified again, so a forged letter adds
    /// nothing. For any other body the letter is the only source, so a verified chain has to hold the letter.
    ///
    /// - Parameters:
    ///   - redactions: the IDs of letters with a recorded redaction.
    ///   - progress: called while the chains are read.
    func originals(of ids: [String], redactions: Set<String>, progress: TopicScan.Progress = { _, _ in }) async throws
        -> [Result<ReplayedOriginal, Unsendable>]
    {
        let asked = Set(ids).subtracting(redactions)
        var originals = try await read(positions.filter { asked.contains($0.key) }) { id, letter in
            letter.id == id && letter.problem == nil
        }.filter { if case .success(let original) = $0.value { original.isHeld } else { false } }
        let rest = asked.subtracting(originals.keys)
        if !rest.isEmpty {
            if vouched == nil {
                vouched = try await VouchedLetters.read(
                    names, keeping: self.ids, near: Array(positions.values), progress: progress)
            }
            let links = vouched?.byID.filter { rest.contains($0.key) } ?? [:]
            let positions = links.mapValues(names.position(of:))
            originals.merge(try await read(positions) { id, letter in letter == links[id] }) { $1 }
        }
        return ids.map { id in
            guard asked.contains(id) else {
                return .failure(Unsendable(.redacted, "it was redacted: its content was removed on an auditor's order"))
            }
            return originals[id]
                ?? .failure(
                    Unsendable(
                        .onNoChain,
                        "no verified chain holds it: see 'dead-letter verify'; what its source topic still holds can "
                            + "be published again"))
        }
    }

    /// Reads the letters at these positions, if they are the expected ones, with their bodies.
    private func read(_ positions: [String: RecordPosition], isExpected: (String, ChainLetter) -> Bool) async throws
        -> [String: Result<ReplayedOriginal, Unsendable>]
    {
        let found = try await held(Array(positions.values), by: letters)
        var read: [String: Result<Letter, Unsendable>] = [:]
        for (id, position) in positions {
            read[id] = Result { () throws(Unsendable) in try letter(found[position]) { isExpected(id, $0) } }
        }
        let bodies = try await sources(at: read.values.compactMap { try? $0.get().body })
        return read.mapValues { result in
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

    /// The records at these positions; partitions and records that are gone are left out.
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

    private func letter(_ record: ConsumerRecord?, isExpected: (ChainLetter) -> Bool) throws(Unsendable) -> Letter {
        guard let record, let letter = try? DeadLetter(decoding: record),
            let kept = ChainLetter(letter, record, hasOriginal: false), isExpected(kept)
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
