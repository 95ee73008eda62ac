package import Kafka
import Platform
import Settings

/// Reads what partitions hold, without a group: nothing is committed and no worker is disturbed.
package struct TopicReader: Sendable {
    private static let pollRecordsMax = 1_000
    private static let pollBytesMax = 8 * 1_048_576
    private static let pollWait = Duration.milliseconds(100)
    private static let answerDeadline = Duration.seconds(30)
    private static let closeDeadline = Duration.seconds(5)

    private let configuration: [String: String]

    /// - Parameter configuration: librdkafka's, with the way to the cluster.
    package init(_ configuration: [String: String]) {
        let own = ["group.id": "\(PipelineTool.name)-reader", "client.id": PipelineTool.name]
        self.configuration = configuration.merging(own) { $1 }
    }

    /// All records of a topic up to its present end, in the order of each partition; none where
    /// there is no such topic.
    package func records(
        of topic: String,
        deadline: Duration
    ) async throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        _ = try await visit(topic, deadline: deadline) { records.append($0) }
        return records
    }

    /// Gives every record of a topic up to its present end, in the order of each partition, and
    /// keeps none.
    ///
    /// - Parameter progress: called with how many offsets were read, and of how many.
    /// - Returns: how many offsets retention has removed.
    func visit(
        _ topic: String,
        deadline: Duration,
        progress: (Int64, Int64) -> Void = { _, _ in },
        _ body: (ConsumerRecord) throws -> Void
    ) async throws -> Int64 {
        let end = ContinuousClock.now + deadline
        let marks = try await KafkaAdmin.lend(configuration) {
            admin -> [TopicPartition: Watermarks] in
            let metadata = try await admin.metadata(deadline: min(deadline, Self.answerDeadline))
            guard let found = metadata[topic: topic], found.error == nil else { return [:] }
            return try await admin.listOffsets(
                found.partitions,
                deadline: min(deadline, Self.answerDeadline)
            )
        }
        let ranges = marks.mapValues { $0.low..<max($0.low, $0.high) }
        try await read(ranges, until: end, progress, body)
        return marks.values.reduce(0) { $0 + $1.low }
    }

    /// The record at each offset, or the first one after it.
    package func first(
        at offsets: [TopicPartition: Int64],
        deadline: Duration
    ) async throws -> [TopicPartition: ConsumerRecord] {
        var records: [TopicPartition: ConsumerRecord] = [:]
        let ranges = offsets.mapValues { $0..<($0 + 1) }
        try await read(ranges, until: .now + deadline, { _, _ in }) { record in
            if records[record.topicPartition] == nil {
                records[record.topicPartition] = record
            }
        }
        return records
    }

    /// Gives every record of the ranges, and ends when each partition has got to its range's end.
    private func read(
        _ ranges: [TopicPartition: Range<Int64>],
        until deadline: ContinuousClock.Instant,
        _ progress: (Int64, Int64) -> Void,
        _ body: (ConsumerRecord) throws -> Void
    ) async throws {
        let open = ranges.filter { !$0.value.isEmpty }
        guard !open.isEmpty else { return }
        let consumer = try KafkaConsumer(configuration: configuration)
        do {
            try await consumer.assign(with: open.mapValues { $0.lowerBound })
            try await Self.poll(consumer, open, until: deadline, progress, body)
            await consumer.close(deadline: Self.closeDeadline)
        } catch {
            await consumer.close(deadline: Self.closeDeadline)
            throw error
        }
    }

    private static func poll(
        _ consumer: KafkaConsumer,
        _ ranges: [TopicPartition: Range<Int64>],
        until deadline: ContinuousClock.Instant,
        _ progress: (Int64, Int64) -> Void,
        _ body: (ConsumerRecord) throws -> Void
    ) async throws {
        func size(_ ranges: [TopicPartition: Range<Int64>]) -> Int64 {
            ranges.values.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
        }
        let total = size(ranges)
        var open = ranges
        var wait: ServerWait?
        while !open.isEmpty {
            wait = wait ?? consumer.wait(within: deadline - .now)
            guard ContinuousClock.now < deadline else { throw KafkaError.deadline("reading") }
            try Task.checkCancellation()
            let result = try await consumer.poll(
                recordsMax: pollRecordsMax,
                bytesMax: pollBytesMax,
                wait: pollWait
            )
            guard !result.records.isEmpty || !result.ends.isEmpty else { continue }
            wait?.answered()
            wait = nil
            for record in result.records {
                guard let range = open[record.topicPartition] else { continue }
                try body(record)
                let next = max(range.lowerBound, record.offset + 1)
                let isOver = next >= range.upperBound
                open[record.topicPartition] = isOver ? nil : next..<range.upperBound
            }
            // The last offsets of a range may hold no record.
            for end in result.ends {
                open[end.partition] = nil
            }
            progress(total - size(open), total)
        }
    }
}

extension KafkaAdmin {
    /// Lends a client to `body` and closes it afterwards, however that ends; names the servers
    /// where none of them answers.
    package static func lend<T>(
        _ configuration: [String: String],
        _ body: (KafkaAdmin) async throws -> T
    ) async throws -> T {
        let admin = try KafkaAdmin(configuration: configuration)
        do {
            let value = try await body(admin)
            await admin.close()
            return value
        } catch let error as KafkaError where error.isSilence {
            await admin.close()
            let servers = configuration["bootstrap.servers"] ?? "the brokers"
            throw CommandError(ExitCode.unavailable, "no answer from Kafka at \(servers): \(error)")
        } catch {
            await admin.close()
            throw error
        }
    }
}

extension KafkaError {
    /// Nobody answered, or nobody could be asked.
    fileprivate var isSilence: Bool {
        [.transport, .allBrokersDown, .timedOut, .unauthenticated].contains(code)
    }
}
