package import AppStore
package import Kafka
package import Records

/// The dead-letter topic of one cluster, read from its beginning to where it ends now.
///
/// Reads without a group: nothing is committed, and workers notice nothing of it. It holds what one
/// poll brings and no more.
package struct DeadLetterTopic: Sendable {
    /// What a reading has seen.
    package struct Summary: Equatable, Sendable {
        package var records = 0
        /// Records that are no dead letters.
        package var foreign = 0
        /// What each partition held when the reading began: from the oldest offset that retention
        /// had left to the one after the last.
        package var held: [Int32: Range<Int64>] = [:]
    }

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

    /// Visits every dead letter that was there when the reading began, in the order of its
    /// partition.
    ///
    /// - Parameters:
    ///   - since: passes over what failed earlier.
    ///   - foreign: gets each record that is no dead letter.
    ///   - visit: gets the letter and the record it was read from; it may not keep many of those.
    package func read(
        since: Timestamp? = nil,
        foreign: (ConsumerRecord) -> Void = { _ in },
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws(DeadLetterTopicError) -> Summary {
        let (spans, held) = try await spans(since: since)
        var summary = try await read(spans, since: since, foreign, visit)
        for (partition, held) in held {
            summary.held[partition.partition] = held
        }
        return summary
    }

    /// The dead letter at a position of this topic, whole.
    ///
    /// - Returns: nil where no record lies there (any more), or none that is a dead letter.
    package func read(
        at position: RecordPosition
    ) async throws(DeadLetterTopicError) -> (letter: DeadLetter, record: ConsumerRecord)? {
        let partition = TopicPartition(topic: name, partition: position.partition)
        let held = try await spans(since: nil).held[partition]
        guard position.topic == name, let held, held.contains(position.offset) else { return nil }
        var found: (letter: DeadLetter, record: ConsumerRecord)?
        let span = [partition: position.offset..<(position.offset + 1)]
        _ = try await read(span, since: nil) { _ in
        } _: {
            found = ($0, $1)
        }
        return found
    }

    /// The records at these positions, those that are there.
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

    /// Gives every record that was there when the reading began, without its value, in the order of
    /// its partition, some at a time.
    ///
    /// - Returns: where each partition ended, by partition.
    /// - Throws: a `DeadLetterTopicError`, and what `body` throws.
    package func visitRecords(
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws -> [Int32: Int64] {
        let marks = try await watermarks()
        var spans: [TopicPartition: Range<Int64>] = [:]
        for (partition, mark) in marks where mark.low < mark.high {
            spans[TopicPartition(topic: name, partition: partition)] = mark.low..<mark.high
        }
        try await visit(spans, takesValues: false, body)
        return marks.mapValues(\.high)
    }

    /// Gives every record from these offsets on, without its value, until the task is cancelled.
    ///
    /// - Throws: `CancellationError`; a fault that the client cannot mend by itself.
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
        _ foreign: (ConsumerRecord) -> Void,
        _ visit: (DeadLetter, ConsumerRecord) -> Void
    ) async throws(DeadLetterTopicError) -> Summary {
        var summary = Summary()
        do {
            try await self.visit(spans, takesValues: true) { records in
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
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        guard !spans.isEmpty else { return }
        let consumer = try consumer()
        do {
            try await consumer.assign(with: spans.mapValues { $0.lowerBound })
            try await visit(consumer, spans, takesValues: takesValues, body)
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
        _ body: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        var rest = spans
        var lastProgress = ContinuousClock.now
        var lastError: KafkaError?
        while !rest.isEmpty {
            try Task.checkCancellation()
            let result = try await consumer.poll(
                recordsMax: Self.pollRecordsMax,
                bytesMax: Self.pollBytesMax,
                wait: .milliseconds(200),
                takesValues: takesValues
            )
            let records = result.records.filter { record in
                guard let left = rest[record.topicPartition] else { return false }
                let next = max(record.offset + 1, left.lowerBound)
                // Nothing may lie in the last offsets of the span.
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

    /// The offsets of each partition.
    private typealias Spans = [TopicPartition: Range<Int64>]

    /// The offsets to read, of partitions that have any, and those that each partition holds.
    private func spans(
        since: Timestamp?
    ) async throws(DeadLetterTopicError) -> (wanted: Spans, held: Spans) {
        try await asking { try await spans($0, since: since) }
    }

    /// The offsets between which each partition holds records, by partition.
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
        // About all topics: a question about one makes it, where the brokers are set up so.
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
            // A partition without an offset of that time holds nothing that is new enough. Brokers
            // that know none at all may not answer by time (librdkafka's mock): all is read then.
            for (partition, span) in spans where !starts.isEmpty {
                let start = max(starts[partition] ?? span.upperBound, span.lowerBound)
                spans[partition] = min(start, span.upperBound)..<span.upperBound
            }
        }
        return (spans.filter { !$0.value.isEmpty }, held)
    }

    private func consumer() throws(DeadLetterTopicError) -> KafkaConsumer {
        var properties = configuration
        // Named, because librdkafka wants a name; it is never joined.
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
        /// librdkafka does not take the settings.
        case configuration
        case unreachable
        case noTopic
        /// The brokers stopped answering on the way.
        case stalled
    }

    package let code: Code

    /// Says what was asked of whom, and what to look at.
    package let description: String
}
