package import AppStore
package import Kafka
import Platform
package import Records
import Settings

/// The dead-letter topic of one cluster, read from its beginning to its present end.
///
/// Reads without a group: nothing is committed, and no worker is affected. Memory holds one poll.
package struct DeadLetterTopic: Sendable {
    /// The counts of one reading.
    package struct Summary: Equatable, Sendable {
        package var records = 0
        /// Records that are no dead letters.
        package var foreign = 0
        /// The offsets of each partition when the reading began: from the oldest left by retention
        /// to the one after the last.
        package var held: [Int32: Range<Int64>] = [:]
    }

    /// How many offsets were read, and of how many.
    package typealias Progress = (_ done: Int64, _ total: Int64) -> Void

    package let name: String
    /// librdkafka's properties, bootstrap servers included.
    package let configuration: [String: String]
    private let deadline: Duration

    /// - Parameters:
    ///   - configuration: librdkafka's properties, bootstrap servers included.
    ///   - deadline: for one answer of the brokers.
    package init(
        name: String,
        configuration: [String: String],
        deadline: Duration = .seconds(15)
    ) {
        self.name = name
        self.configuration = configuration
        self.deadline = deadline
    }

    /// Visits every dead letter stored when the reading began, in the order of its partition.
    ///
    /// - Parameters:
    ///   - next: the first offsets to read, of partitions that were read before.
    ///   - since: skips letters that failed earlier.
    ///   - progress: called with how many offsets were read, and of how many.
    ///   - foreign: receives each record that is no dead letter.
    ///   - visit: receives the letter and its record; it must not keep many of those.
    package func read(
        from next: [Int32: Int64] = [:],
        since: Timestamp? = nil,
        progress: Progress = { _, _ in },
        foreign: (ConsumerRecord) -> Void = { _ in },
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws(DeadLetterTopicError) -> Summary {
        let (wanted, held) = try await spans(since: since)
        var spans: Spans = [:]
        for (partition, span) in wanted {
            let start = max(span.lowerBound, next[partition.partition] ?? span.lowerBound)
            if start < span.upperBound { spans[partition] = start..<span.upperBound }
        }
        var summary = try await read(spans, since: since, progress, foreign, visit)
        for (partition, held) in held {
            summary.held[partition.partition] = held
        }
        return summary
    }

    /// The whole dead letter at a position of this topic.
    ///
    /// - Returns: nil if no record lies there (any more), or no dead letter.
    package func read(
        at position: RecordPosition
    ) async throws(DeadLetterTopicError) -> (letter: DeadLetter, record: ConsumerRecord)? {
        let partition = TopicPartition(topic: name, partition: position.partition)
        let held = try await spans(since: nil).held[partition]
        guard position.topic == name, let held, held.contains(position.offset) else { return nil }
        var found: (letter: DeadLetter, record: ConsumerRecord)?
        let span = [partition: position.offset..<(position.offset + 1)]
        _ = try await read(span, since: nil) { _, _ in
        } _: { _ in
        } _: {
            found = ($0, $1)
        }
        return found
    }

    /// The records at these positions; missing ones are left out.
    func records(
        at positions: Set<RecordPosition>
    ) async throws(DeadLetterTopicError) -> [RecordPosition: ConsumerRecord] {
        guard !positions.isEmpty else { return [:] }
        return try await asking { admin in
            let fetcher = try RecordFetcher(configuration, admin: admin)
            do {
                let records = try await fetcher.records(at: positions)
                await fetcher.close()
                return records
            } catch {
                await fetcher.close()
                throw error
            }
        }
    }

    /// Returns every record stored when the reading began, without its value, in the order of its
    /// partition, some at a time.
    ///
    /// - Parameter progress: called with how many offsets were read, and of how many.
    /// - Returns: the end of each partition.
    /// - Throws: a `DeadLetterTopicError`, and what `body` throws.
    package func visitRecords(
        progress: Progress = { _, _ in },
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws -> [Int32: Int64] {
        let marks = try await watermarks()
        var spans: [TopicPartition: Range<Int64>] = [:]
        for (partition, mark) in marks where mark.low < mark.high {
            spans[TopicPartition(topic: name, partition: partition)] = mark.low..<mark.high
        }
        try await visit(spans, takesValues: false, progress, body)
        return marks.mapValues(\.high)
    }

    /// Returns every record from these offsets on, without its value, until the task is cancelled.
    ///
    /// - Throws: `CancellationError`, or a fault that the client cannot recover from.
    package func follow(
        from offsets: [Int32: Int64],
        _ body: (ConsumerRecord) -> Void
    ) async throws {
        let consumer = try consumer()
        do {
            var positions: [TopicPartition: Int64?] = [:]
            for (partition, offset) in offsets {
                positions[TopicPartition(topic: name, partition: partition)] = offset
            }
            try await consumer.assign(with: positions)
            while !Task.isCancelled {
                let result = try await consumer.poll(
                    recordsMax: Self.pollRecordsMax,
                    bytesMax: Self.pollBytesMax,
                    wait: .milliseconds(200),
                    takesValues: false
                )
                result.records.forEach(body)
                if let fatal = result.errors.first(where: \.error.isFatal) { throw fatal.error }
            }
        } catch {
            await consumer.close(deadline: deadline)
            throw error
        }
        await consumer.close(deadline: deadline)
        throw CancellationError()
    }

    private func read(
        _ spans: [TopicPartition: Range<Int64>],
        since: Timestamp?,
        _ progress: Progress,
        _ foreign: (ConsumerRecord) -> Void,
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws(DeadLetterTopicError) -> Summary {
        var summary = Summary()
        do {
            try await self.visit(spans, takesValues: true, progress) { records in
                summary.records += records.count
                for record in records {
                    guard let letter = try? DeadLetter(decoding: record) else {
                        summary.foreign += 1
                        foreign(record)
                        continue
                    }
                    if since.map({ $0 <= letter.failedAt }) ?? true {
                        visit(letter, record)
                    }
                }
            }
        } catch let error as DeadLetterTopicError {
            throw error
        } catch {
            throw DeadLetterTopicError(code: .stalled, description: "reading \(name): \(error)")
        }
        return summary
    }

    private func visit(
        _ spans: [TopicPartition: Range<Int64>],
        takesValues: Bool,
        _ progress: Progress,
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        guard !spans.isEmpty else { return }
        let consumer = try consumer()
        do {
            try await consumer.assign(with: spans.mapValues { $0.lowerBound })
            try await visit(consumer, spans, takesValues: takesValues, progress, body)
            await consumer.close(deadline: deadline)
        } catch let error as KafkaError {
            await consumer.close(deadline: deadline)
            throw DeadLetterTopicError(code: .stalled, description: "reading \(name): \(error)")
        } catch {
            await consumer.close(deadline: deadline)
            throw error
        }
    }

    private func visit(
        _ consumer: KafkaConsumer,
        _ spans: [TopicPartition: Range<Int64>],
        takesValues: Bool,
        _ progress: Progress,
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        let total = Self.size(spans)
        var rest = spans
        var wait: ServerWait?
        var lastProgress = ContinuousClock.now
        var lastError: KafkaError?
        while !rest.isEmpty {
            try Task.checkCancellation()
            wait = wait ?? consumer.wait(within: deadline)
            let result = try await consumer.poll(
                recordsMax: Self.pollRecordsMax,
                bytesMax: Self.pollBytesMax,
                wait: .milliseconds(200),
                takesValues: takesValues
            )
            if !result.records.isEmpty || !result.ends.isEmpty {
                wait?.answered()
                wait = nil
            }
            let records = result.records.filter { record in
                guard let left = rest[record.topicPartition] else { return false }
                let next = max(record.offset + 1, left.lowerBound)
                // The last offsets of the span may hold no record.
                rest[record.topicPartition] = next < left.upperBound ? next..<left.upperBound : nil
                return left.contains(record.offset)
            }
            if !records.isEmpty {
                try await body(records)
            }
            // After the records: the end of a partition comes in one poll with its last ones.
            for end in result.ends {
                rest[end.partition] = nil
            }
            progress(total - Self.size(rest), total)
            lastError = result.errors.last?.error ?? lastError
            if !result.records.isEmpty {
                lastProgress = .now
            } else if ContinuousClock.now - lastProgress > deadline {
                throw stalled(rest.count, lastError)
            }
        }
    }

    private func stalled(_ partitions: Int, _ error: KafkaError?) -> DeadLetterTopicError {
        DeadLetterTopicError(
            code: .stalled,
            description: "the brokers stopped sending \(name): \(partitions) partitions are not "
                + "read to their end" + (error.map { " (\($0))" } ?? "")
        )
    }

    private typealias Spans = [TopicPartition: Range<Int64>]

    private static func size(_ spans: Spans) -> Int64 {
        spans.values.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
    }

    /// The offsets to read of partitions that have any, and the offsets that each partition holds.
    private func spans(
        since: Timestamp?
    ) async throws(DeadLetterTopicError) -> (wanted: Spans, held: Spans) {
        try await asking { try await spans($0, since: since) }
    }

    /// The offsets between which each partition holds records.
    package func watermarks() async throws(DeadLetterTopicError) -> [Int32: Watermarks] {
        let marks = try await asking { try await watermarks($0) }
        return Dictionary(uniqueKeysWithValues: marks.map { ($0.key.partition, $0.value) })
    }

    private func asking<Answer>(
        _ question: (KafkaAdmin) async throws -> Answer
    ) async throws(DeadLetterTopicError) -> Answer {
        let admin: KafkaAdmin
        do {
            admin = try KafkaAdmin(configuration: configuration)
        } catch {
            throw Self.wrong(error)
        }
        do {
            let answer = try await question(admin)
            await admin.close()
            return answer
        } catch let error as DeadLetterTopicError {
            await admin.close()
            throw error
        } catch {
            await admin.close()
            let servers = configuration["bootstrap.servers"] ?? "the brokers"
            throw DeadLetterTopicError(
                code: .unreachable,
                description: "no answer from \(servers) about \(name): \(error)"
            )
        }
    }

    private func watermarks(
        _ admin: KafkaAdmin
    ) async throws -> [TopicPartition: Watermarks] {
        // For all topics: a request for one creates it on brokers with automatic creation.
        let metadata = try await admin.metadata(deadline: deadline)
        guard let topic = metadata[topic: name], topic.error == nil, topic.partitionCount > 0
        else {
            throw DeadLetterTopicError(
                code: .noTopic,
                description: "there is no topic \(name), or no right to see it: see --prefix, "
                    + "or create it with 'pipeline topics'"
            )
        }
        return try await admin.listOffsets(topic.partitions, deadline: deadline)
    }

    private func spans(
        _ admin: KafkaAdmin,
        since: Timestamp?
    ) async throws -> (wanted: Spans, held: Spans) {
        let held = try await watermarks(admin).mapValues { $0.low..<max($0.low, $0.high) }
        var spans = held
        if let since {
            let starts = try await admin.offsets(
                Array(held.keys),
                atMilliseconds: since.milliseconds,
                deadline: deadline
            )
            // A partition without an offset of that time holds nothing new enough. Brokers that
            // cannot search by time (librdkafka's mock) return no offsets: then everything is read.
            for (partition, span) in spans where !starts.isEmpty {
                let start = max(starts[partition] ?? span.upperBound, span.lowerBound)
                spans[partition] = min(start, span.upperBound)..<span.upperBound
            }
        }
        return (spans.filter { !$0.value.isEmpty }, held)
    }

    private func consumer() throws(DeadLetterTopicError) -> KafkaConsumer {
        var properties = configuration
        // Set because librdkafka requires a name; it is never joined.
        properties["group.id"] = "dead-letter-reader"
        do {
            return try KafkaConsumer(configuration: properties)
        } catch {
            throw Self.wrong(error)
        }
    }

    private static func wrong(_ error: KafkaError) -> DeadLetterTopicError {
        DeadLetterTopicError(code: .configuration, description: "librdkafka: \(error.message)")
    }

    private static let pollRecordsMax = 500
    private static let pollBytesMax = 4 << 20
}

/// Why the dead-letter topic could not be read.
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
}

extension DeadLetterTopicError: CommandFailure {
    package var exitCode: Int32 {
        code == .configuration ? ExitCode.configuration : ExitCode.unavailable
    }
}
