import Kafka
import Postgres
import Store

/// One life of the indexer's consumer: from joining the group to leaving it.
///
/// For one task at a time. While batches are written, one of each lane, the next ones are read, up
/// to a bound.
final class IndexSession {
    private let topic: DeadLetterTopic
    private let client: PostgresClient
    private let settings: DeadLetterIndexer.Settings
    private let report: @Sendable (DeadLetterIndexer.Event) -> Void
    private let consumer: KafkaConsumer
    private let writer: IndexWriter

    /// The next offset to read, of each assigned partition.
    private var next: [Int32: Int64] = [:]
    /// The next offset to index, of each assigned partition.
    private var indexed: [Int32: Int64] = [:]
    private var lanes: [IndexLane]
    private var isPaused = false
    private var isFailing = false

    init(
        topic: DeadLetterTopic,
        client: PostgresClient,
        settings: DeadLetterIndexer.Settings,
        report: @escaping @Sendable (DeadLetterIndexer.Event) -> Void
    ) throws(KafkaError) {
        self.topic = topic
        self.client = client
        self.settings = settings
        self.report = report
        lanes = Array(repeating: IndexLane(), count: settings.writesMax)
        var properties = topic.configuration
        properties["group.id"] = settings.group
        consumer = try KafkaConsumer(configuration: properties)
        writer = IndexWriter(
            topic: topic.name,
            client: client,
            consumer: consumer,
            retrying: Retrying(what: "PostgreSQL", delayMax: settings.retryDelayMax, report: report)
        )
    }

    /// - Parameters:
    ///   - ends: where to stop, by partition; nil for never.
    ///   - mustRenew: asked at intervals whether another session must continue.
    /// - Returns: false if another session must continue.
    /// - Throws: `CancellationError`, and faults of the client.
    func run(until ends: [Int32: Int64]?, mustRenew: () -> Bool) async throws -> Bool {
        try await consumer.subscribe([topic.name])
        while true {
            try Task.checkCancellation()
            if mustRenew() { return false }
            let isIdle = try await turn()
            if isIdle, let ends, try await isReached(ends) { return true }
        }
    }

    /// Finishes the running writes, commits them and leaves the group.
    func close() async {
        _ = try? await finishWriting()
        await consumer.close(deadline: settings.closeDeadline)
    }

    /// Polls once, and starts writing what was read.
    ///
    /// - Returns: whether there was nothing to do.
    private func turn() async throws -> Bool {
        let result = try await consumer.poll(
            recordsMax: Self.pollRecordsMax,
            bytesMax: Self.pollBytesMax,
            wait: .milliseconds(100),
            takesValues: false
        )
        try note(result)
        for record in result.records {
            try await take(record)
        }
        for end in result.ends where next[end.partition.partition] != nil {
            next[end.partition.partition] = end.offset
        }
        for event in result.events {
            try await answer(event)
        }
        for lane in lanes.indices {
            if let ended = lanes[lane].takeEnded() {
                try settle(ended.write, ended.outcome)
            }
            lanes[lane].startWriting(
                next: next.filter { partition, _ in self.lane(of: partition) == lane },
                indexed: indexed,
                rowsMax: settings.rowsMax,
                with: writer
            )
        }
        try await adjustPause()
        return result.isEmpty && lanes.allSatisfy(\.isIdle)
    }

    private func lane(of partition: Int32) -> Int { Int(partition) % lanes.count }

    private func note(_ result: PollResult) throws(KafkaError) {
        for failure in result.errors {
            if failure.error.isFatal { throw failure.error }
            guard !isFailing else { continue }
            isFailing = true
            report(.retrying(what: "Kafka", error: "\(failure.error)", delay: .zero))
        }
        if isFailing, result.errors.isEmpty, !result.records.isEmpty || !result.ends.isEmpty {
            isFailing = false
            report(.recovered(what: "Kafka"))
        }
    }

    private func take(_ record: ConsumerRecord) async throws {
        let partition = record.topicPartition.partition
        guard let expected = next[partition] else { return }
        if record.offset < expected {
            try await beginAnew(partition)
        }
        next[partition] = record.offset + 1
        let row = DeadLetterRow(record)
        if row == nil {
            report(
                .passedOver(
                    partition: partition,
                    offset: record.offset,
                    why: "it is no dead letter"
                )
            )
        }
        lanes[lane(of: partition)].append((partition, record.offset, row))
    }

    private func settle(_ write: PendingWrite, _ outcome: Result<Void, any Error>) throws {
        try outcome.get()
        for (partition, offset) in write.nextOffsets where indexed[partition] != nil {
            indexed[partition] = max(indexed[partition, default: 0], offset)
        }
        guard !write.records.isEmpty else { return }
        let foreign = write.records.count { $0.row == nil }
        report(.indexed(records: write.records.count, foreign: foreign))
    }

    /// Waits for the running writes up to a deadline.
    private func finishWriting() async throws {
        // Collect all outcomes before any fault is thrown: no write runs on after this.
        var outcomes: [(PendingWrite, Result<Void, any Error>)] = []
        for lane in lanes.indices {
            guard let writing = lanes[lane].takeWriting() else { continue }
            outcomes.append((writing, await writing.finish(within: settings.closeDeadline)))
        }
        for (writing, outcome) in outcomes {
            try settle(writing, outcome)
        }
    }

    private func adjustPause() async throws {
        let isFull = lanes.reduce(0) { $0 + $1.buffer.count } >= settings.bufferMax
        guard isFull != isPaused else { return }
        isPaused = isFull
        let partitions = next.keys.map { TopicPartition(topic: topic.name, partition: $0) }
        if isFull {
            try await consumer.pause(partitions)
        } else {
            try await consumer.resume(partitions)
        }
    }

    private func isReached(_ ends: [Int32: Int64]) async throws -> Bool {
        let client = client
        let progress = try await writer.retrying.run {
            try await DeadLetterIndexTable.progress(on: client)
        }
        let reached = progress.nextOffsets(of: topic.name)
        return ends.allSatisfy { partition, end in reached[partition, default: 0] >= end }
    }

    private static let pollRecordsMax = 1_000
    private static let pollBytesMax = 8 << 20
}

extension IndexSession {
    private func answer(_ event: RebalanceEvent) async throws {
        switch event {
        case .assigned(let partitions):
            try await assign(partitions)
        case .revoking(let partitions):
            drop(partitions)
            try await finishWriting()
            try await consumer.completeRevocation(partitions)
        case .lost(let partitions):
            drop(partitions)
        }
        // A partition that is added while others are paused is read at once; so are the others.
        if isPaused {
            isPaused = false
            let held = next.keys.map { TopicPartition(topic: topic.name, partition: $0) }
            try await consumer.resume(held)
        }
    }

    private func drop(_ partitions: [TopicPartition]) {
        for partition in partitions.map(\.partition) {
            next[partition] = nil
            indexed[partition] = nil
        }
        for lane in lanes.indices {
            lanes[lane].keep { next[$0] != nil }
        }
    }

    /// Begins at the indexed offset, or at the beginning if the topic ends before it.
    private func assign(_ partitions: [TopicPartition]) async throws {
        let (client, topic) = (client, topic)
        let progress = try await writer.retrying.run {
            try await DeadLetterIndexTable.progress(on: client)
        }
        let marks = try await writer.retrying.run { try await topic.watermarks() }
        let reached = progress.nextOffsets(of: topic.name)
        for partition in partitions.map(\.partition) {
            let start = reached[partition] ?? marks[partition]?.low ?? 0
            next[partition] = start
            indexed[partition] = reached[partition] ?? -1
            if let high = marks[partition]?.high, start > high {
                try await beginAnew(partition)
                next[partition] = marks[partition]?.low ?? 0
            }
        }
        var positions: [TopicPartition: Int64?] = [:]
        for partition in partitions {
            positions[partition] = next[partition.partition]
        }
        try await consumer.assign(with: positions)
        report(.assigned(partitions.map(\.partition).sorted()))
    }

    /// The topic was deleted and recreated: its offsets are others.
    private func beginAnew(_ partition: Int32) async throws {
        try await finishWriting()
        report(.madeAnew(partition: partition))
        let start = DeadLetterIndexTable.Progress(
            topic: topic.name,
            partition: partition,
            nextOffset: 0
        )
        let client = client
        try await writer.retrying.run { try await DeadLetterIndexTable.set([start], on: client) }
        indexed[partition] = 0
    }
}
