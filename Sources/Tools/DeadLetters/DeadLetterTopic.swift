package import AppStore
package import Kafka
import Platform
package import Records
import Commands
import Settings

/// The dead-letter topic of one cluster, read from its beginning to its present end.
///
/// Reads without a consumer group, so nothing is committed and no worker is affected. Memory holds
/// the records of one poll.
package struct DeadLetterTopic: Sendable {
    /// The counts of one reading.
    package struct Summary: Equatable, Sendable {
        package var records = 0
        /// Records that are no dead letters.
        package var foreign = 0
        /// The offsets of each partition when the reading began, from the oldest that retention has
        /// left to the end of the partition or of the reading.
        package var held: [Int32: Range<Int64>] = [:]
    }

    /// A dead letter and its record.
    package typealias Held = (letter: DeadLetter, record: ConsumerRecord)

    package let name: String
    /// librdkafka's properties, bootstrap servers included.
    package let configuration: [String: String]
    private let deadline: Duration

    /// - Parameter deadline: the maximum wait for an answer of the brokers.
    package init(name: String, configuration: [String: String], deadline: Duration = .seconds(15)) {
        self.name = name
        self.configuration = configuration
        self.deadline = deadline
    }

    /// The same topic with another maximum wait for an answer of the brokers.
    package func within(_ deadline: Duration) -> DeadLetterTopic {
        DeadLetterTopic(name: name, configuration: configuration, deadline: deadline)
    }

    /// Visits every dead letter stored when the reading began, in the order of each partition.
    ///
    /// - Parameters:
    ///   - next: the first offset to read of each partition that was read before.
    ///   - ends: the offset at which to stop, by partition, if it is below the current end; `nil`
    ///     reads up to the current end.
    ///   - since: the earliest time of failure; earlier letters are skipped.
    ///   - progress: called with the number of offsets read, and their total.
    ///   - foreign: receives each record that is no dead letter.
    ///   - visit: receives each letter and its record; must not keep many records.
    package func read(
        from next: [Int32: Int64] = [:], to ends: [Int32: Int64]? = nil, since: Timestamp? = nil,
        progress: TopicScan.Progress = { _, _ in }, foreign: (ConsumerRecord) -> Void = { _ in },
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws(DeadLetterTopicError) -> Summary {
        var (spans, held) = try await spans(since: since, to: ends)
        for (partition, span) in spans {
            let start = max(span.lowerBound, next[partition.partition] ?? span.lowerBound)
            spans[partition] = start < span.upperBound ? start..<span.upperBound : nil
        }
        var summary = Summary()
        for (partition, held) in held { summary.held[partition.partition] = held }
        do {
            try await self.visit(spans, takesValues: true, progress: progress) { records in
                summary.records += records.count
                for record in records {
                    guard let letter = try? DeadLetter(decoding: record) else {
                        summary.foreign += 1
                        foreign(record)
                        continue
                    }
                    if since.map({ $0 <= letter.failedAt }) ?? true { visit(letter, record) }
                }
            }
        } catch { throw DeadLetterTopicError(error, otherwise: .stalled, "reading \(name)") }
        return summary
    }

    /// The whole dead letter at a position of this topic.
    ///
    /// - Returns: `nil` if the position holds no record, or one that is no dead letter.
    package func read(at position: RecordPosition) async throws(DeadLetterTopicError) -> Held? {
        let held = try await spans(since: nil).held[position.topicPartition]
        guard let held, held.contains(position.offset), let record = try await records(at: [position])[position],
            let letter = try? DeadLetter(decoding: record)
        else { return nil }
        return (letter, record)
    }

    /// The records at these positions; missing ones are left out.
    func records(at positions: Set<RecordPosition>) async throws(DeadLetterTopicError) -> [RecordPosition:
        ConsumerRecord]
    {
        guard !positions.isEmpty else { return [:] }
        return try await asking { admin in
            try await TopicScan.with(configuration) { scan in try await scan.records(at: positions, asking: admin) }
        }
    }

    /// Visits every record stored when the reading began, without its value, in batches and in the
    /// order of each partition.
    ///
    /// - Parameters:
    ///   - starts: the first offset to read of each partition; a partition without one is not read.
    ///     `nil` reads all partitions.
    ///   - progress: called with the number of offsets read, and their total.
    /// - Returns: the end of each partition.
    /// - Throws: a `DeadLetterTopicError`, and what `body` throws.
    package func visitRecords(
        from starts: [Int32: Int64]? = nil, progress: TopicScan.Progress = { _, _ in },
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws -> [Int32: Int64] {
        let marks = try await watermarks()
        var spans: Spans = [:]
        for (partition, mark) in marks where mark.low < mark.high {
            let start = starts.map { $0[partition] ?? mark.high } ?? mark.low
            spans[TopicPartition(topic: name, partition: partition)] = max(mark.low, min(start, mark.high))..<mark.high
        }
        spans = spans.filter { !$0.value.isEmpty }
        try await visit(spans, takesValues: false, progress: progress, body)
        return marks.mapValues(\.high)
    }

    /// Visits every record from these offsets on, without its value, until the task is cancelled.
    ///
    /// - Throws: `CancellationError`, or a fault that the client cannot recover from.
    package func follow(from offsets: [Int32: Int64], _ body: (ConsumerRecord) -> Void) async throws {
        try await TopicScan.with(configuration, takesValues: false) { scan in
            var ranges: Spans = [:]
            for (partition, offset) in offsets {
                let partition = TopicPartition(topic: name, partition: partition)
                ranges[partition] = offset..<KafkaBounds.offsets.upperBound
            }
            try await scan.read(ranges, silenceMax: nil) { $0.forEach(body) }
        }
    }

    private func visit(
        _ spans: Spans, takesValues: Bool, progress: TopicScan.Progress, _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        guard !spans.isEmpty else { return }
        do {
            try await TopicScan.with(configuration, takesValues: takesValues) { scan in
                try await scan.read(spans, silenceMax: deadline, progress: progress, body)
            }
        } catch let error as KafkaError { throw DeadLetterTopicError(error, otherwise: .stalled, "reading \(name)") }
    }

    private typealias Spans = [TopicPartition: Range<Int64>]

    /// The offsets to read, for partitions that have any, and the offsets that each partition holds.
    private func spans(since: Timestamp?, to ends: [Int32: Int64]? = nil) async throws(DeadLetterTopicError) -> (
        wanted: Spans, held: Spans
    ) {
        try await asking { admin in
            var held = try await watermarks(admin).mapValues { $0.low..<max($0.low, $0.high) }
            if let ends {
                for (partition, range) in held {
                    held[partition] = range.clamped(to: 0..<ends[partition.partition, default: 0])
                }
            }
            var spans = held
            if let since {
                let starts = try await admin.offsets(
                    Array(held.keys), atMilliseconds: since.milliseconds, deadline: deadline)
                // A partition without an offset for that time holds no later record. Brokers that cannot search by
                // time (librdkafka's mock) return no offsets: then everything is read.
                for (partition, span) in spans where !starts.isEmpty {
                    let start = max(starts[partition] ?? span.upperBound, span.lowerBound)
                    spans[partition] = min(start, span.upperBound)..<span.upperBound
                }
            }
            return (spans.filter { !$0.value.isEmpty }, held)
        }
    }

    /// The oldest offset of each partition, and its end.
    package func watermarks() async throws(DeadLetterTopicError) -> [Int32: Watermarks] {
        let marks = try await asking { try await watermarks($0) }
        return Dictionary(uniqueKeysWithValues: marks.map { ($0.key.partition, $0.value) })
    }

    private func asking<Answer>(_ question: (KafkaAdmin) async throws -> Answer) async throws(DeadLetterTopicError)
        -> Answer
    { try await KafkaAdmin.ask(configuration, about: name, question) }

    private func watermarks(_ admin: KafkaAdmin) async throws -> [TopicPartition: Watermarks] {
        // All topics are requested, because a request for one topic creates it on brokers with automatic creation.
        let metadata = try await admin.metadata(deadline: deadline)
        guard let topic = metadata[topic: name], topic.error == nil, topic.partitionCount > 0 else {
            throw DeadLetterTopicError(
                code: .noTopic,
                description: "there is no topic \(name), or no right to see it: see --prefix, "
                    + "or create it with 'pipeline topics'")
        }
        return try await admin.listOffsets(topic.partitions, deadline: deadline)
    }
}

extension KafkaAdmin {
    /// Asks the brokers; an error names the subject of the question.
    static func ask<Answer>(
        _ configuration: [String: String], about subject: String, _ question: (KafkaAdmin) async throws -> Answer
    ) async throws(DeadLetterTopicError) -> Answer {
        do { return try await with(configuration, question) } catch {
            let servers = configuration["bootstrap.servers"] ?? "the brokers"
            let what = "no answer from \(servers) about \(subject)"
            throw DeadLetterTopicError(error, otherwise: .unreachable, what)
        }
    }
}

/// The reason why the dead-letter topic could not be read.
package struct DeadLetterTopicError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// librdkafka rejects the settings.
        case configuration
        case unreachable
        case noTopic
        /// The brokers stopped answering while the topic was read.
        case stalled
    }

    package let code: Code

    /// The request, the servers, and what to check.
    package let description: String

    fileprivate init(code: Code, description: String) {
        self.code = code
        self.description = description
    }

    /// Keeps an error of this type, recognises invalid settings, and describes any other error.
    fileprivate init(_ error: any Error, otherwise code: Code, _ what: String) {
        switch error {
        case let error as DeadLetterTopicError: self = error
        case let error as KafkaError where error.code == .invalidConfiguration:
            self.init(code: .configuration, description: "librdkafka: \(error.message)")
        default: self.init(code: code, description: "\(what): \(error)")
        }
    }
}

extension DeadLetterTopicError: CommandFailure {
    package var exitCode: Int32 { code == .configuration ? ExitCode.configuration : ExitCode.unavailable }
}
