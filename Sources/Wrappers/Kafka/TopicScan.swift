import Platform

/// A reader of ranges of partitions without a group: nothing is committed, and no worker is affected.
///
/// A scan serves one task at a time. Memory contains one poll and, up to a bound, polled records beyond the requested
/// ranges. Offsets without a record are skipped: those of compacted, aborted and control records, and those that
/// retention has removed.
package final class TopicScan {
    /// A receiver of two counts: offsets read, and offsets in total.
    package typealias Progress = (_ done: Int64, _ total: Int64) -> Void

    /// The part of a partition that was polled but not yet visited.
    private struct Lane {
        /// The first offset of this part.
        var start: Int64
        /// The next offset that a poll will return.
        var next: Int64
        var records: [ConsumerRecord] = []

        init(at offset: Int64) { (start, next) = (offset, offset) }
    }

    private let consumer: KafkaConsumer
    private let takesValues: Bool
    private var lanes: [TopicPartition: Lane] = [:]

    private init(_ configuration: [String: String], takesValues: Bool) throws(KafkaError) {
        // librdkafka requires a group name; the group is never joined.
        let group = ["group.id": "\(configuration["client.id"] ?? "topic")-reader"]
        consumer = try KafkaConsumer(configuration: configuration.merging(group) { $1 })
        self.takesValues = takesValues
    }

    /// Calls `body` with a reader and closes the reader afterwards, even if `body` throws.
    ///
    /// - Parameters:
    ///   - configuration: librdkafka's properties, including the bootstrap servers.
    ///   - takesValues: whether values are read; otherwise each value is `nil`.
    package static func with<Value>(
        _ configuration: [String: String], takesValues: Bool = true, _ body: (TopicScan) async throws -> Value
    ) async throws -> Value {
        let scan = try TopicScan(configuration, takesValues: takesValues)
        return try await closing {
            await scan.consumer.close(deadline: closeDeadline)
        } after: {
            try await body(scan)
        }
    }

    /// Visits the records of these ranges in chunks, in the order of each partition.
    ///
    /// - Parameters:
    ///   - ranges: the offsets to read, at most up to the present ends if `silenceMax` is set.
    ///   - firstOnly: whether one record of each range is enough.
    ///   - silenceMax: maximum time without data from the brokers; `nil` waits for records that are not written yet,
    ///     until the task is cancelled.
    /// - Throws: the error of `visit`; `CancellationError`; a `KafkaError` that no retry solves, or that names a
    ///   partition whose records do not arrive or whose offsets restarted.
    package func read(
        _ ranges: [TopicPartition: Range<Int64>], firstOnly: Bool = false, silenceMax: Duration? = TopicScan.silenceMax,
        progress: Progress = { _, _ in }, _ visit: ([ConsumerRecord]) async throws -> Void
    ) async throws {
        var rest = ranges.filter { !$0.value.isEmpty }
        let total = Self.size(rest)
        try await go(to: rest)
        var (lastAnswer, lastError) = (ContinuousClock.now, KafkaError?.none)
        var wait: ServerWait?
        while true {
            let records = take(&rest, firstOnly: firstOnly)
            if !records.isEmpty { try await visit(records) }
            progress(total - Self.size(rest), total)
            guard !rest.isEmpty else { return }
            try Task.checkCancellation()
            if let silenceMax { wait = wait ?? consumer.wait(within: silenceMax) }
            let result = try await consumer.poll(
                recordsMax: Self.pollRecordsMax, bytesMax: Self.pollBytesMax, wait: Self.pollWait,
                takesValues: takesValues)
            try add(result)
            lastError = result.errors.last?.error ?? lastError
            if !result.records.isEmpty || !result.ends.isEmpty {
                wait?.answered()
                (wait, lastAnswer, lastError) = (nil, .now, nil)
            } else if let silenceMax, ContinuousClock.now - lastAnswer > silenceMax {
                throw Self.silence(rest, silenceMax, error: lastError)
            }
        }
    }

    /// Assigns or seeks partitions, unless the next poll will soon return their first offsets.
    private func go(to ranges: [TopicPartition: Range<Int64>]) async throws(KafkaError) {
        var added: [TopicPartition: Int64?] = [:]
        var sought: [TopicPartition: Int64] = [:]
        for (partition, range) in ranges {
            let first = range.lowerBound
            guard let lane = lanes[partition] else {
                added[partition] = first
                continue
            }
            if first < lane.start || first > lane.next + Self.gapMax { sought[partition] = first }
        }
        if !added.isEmpty {
            try await consumer.assign(with: added)
            // Once connected, librdkafka looks for the leaders of further topics once a second; an answer
            // about a topic names them. Without one the poll reports why.
            for topic in Set(added.keys.map(\.topic)) {
                _ = try? await consumer.requests.metadata(topic: topic, deadline: Self.leaderWait)
            }
        }
        if !sought.isEmpty { try await consumer.seek(sought, deadline: Self.silenceMax) }
        for (partition, range) in ranges where added[partition] != nil || sought[partition] != nil {
            lanes[partition] = Lane(at: range.lowerBound)
        }
    }

    private func add(_ result: PollResult) throws(KafkaError) {
        let refusal = result.errors.first { $0.error.isFatal || $0.error.code == .unauthorized }
        if let refusal { throw refusal.error }
        for record in result.records {
            let next = lanes[record.topicPartition]?.next ?? 0
            guard record.offset >= next else {
                throw Self.beganAgain(record.topicPartition, at: record.offset, before: next)
            }
            lanes[record.topicPartition]?.records.append(record)
            lanes[record.topicPartition]?.next = record.offset + 1
        }
        // The ends follow the records: one poll may return the end of a partition with its last records.
        for end in result.ends {
            let next = lanes[end.partition]?.next ?? 0
            lanes[end.partition]?.next = max(next, end.offset)
        }
    }

    /// Removes the polled records of these ranges from the lanes, and shortens the ranges.
    private func take(_ rest: inout [TopicPartition: Range<Int64>], firstOnly: Bool) -> [ConsumerRecord] {
        var taken: [ConsumerRecord] = []
        for (partition, range) in rest.sorted(by: { $0.key < $1.key }) {
            guard var lane = lanes.removeValue(forKey: partition) else { continue }
            let first = firstOnly ? lane.records.first { range.contains($0.offset) } : nil
            let end = first.map { $0.offset + 1 } ?? range.upperBound
            let next = min(max(lane.next, range.lowerBound), end)
            let below = lane.records.firstIndex { $0.offset >= next } ?? lane.records.endIndex
            taken += lane.records[..<below].drop { $0.offset < range.lowerBound }
            lane.records.removeSubrange(..<below)
            lane.start = min(next, lane.next)
            lanes[partition] = lane
            rest[partition] = next < end ? next..<end : nil
        }
        dropSurplus()
        return taken
    }

    /// Drops polled records outside the requested ranges once they are too large: they can be read again.
    private func dropSurplus() {
        let bytes = lanes.values.reduce(0) { bytes, lane in lane.records.reduce(bytes) { $0 + $1.payloadBytes } }
        guard bytes > Self.surplusBytesMax else { return }
        lanes = lanes.mapValues { Lane(at: $0.next) }
    }

    private static func size(_ ranges: [TopicPartition: Range<Int64>]) -> Int64 {
        ranges.values.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
    }

    package static let silenceMax = Duration.seconds(30)
    private static let closeDeadline = Duration.seconds(5)
    private static let pollRecordsMax = 1_000
    private static let pollBytesMax = 4 << 20
    private static let pollWait = Duration.milliseconds(200)
    private static let leaderWait = Duration.seconds(1)
    private static let surplusBytesMax = 16 << 20
    /// Maximum offsets that are read and dropped instead of a seek, which costs a fetch.
    package static let gapMax: Int64 = 500
}

extension TopicScan {
    private static func silence(_ rest: [TopicPartition: Range<Int64>], _ silenceMax: Duration, error: KafkaError?)
        -> KafkaError
    {
        let first = rest.min { $0.key < $1.key }
        let place = first.map { partition, range in
            ", such as \(partition) at offset \(range.lowerBound) of \(range.upperBound)"
        }
        return KafkaError(
            code: error?.code ?? .timedOut, name: error?.name ?? "DEADLINE",
            message: "nothing came for \(silenceMax) of \(rest.count) partitions that are not read "
                + "to their end\(place ?? "")" + (error.map { ": \($0.message)" } ?? ""), isRetriable: true)
    }

    private static func beganAgain(_ partition: TopicPartition, at offset: Int64, before next: Int64) -> KafkaError {
        KafkaError(
            code: .offsetOutOfRange, name: "OFFSET_OUT_OF_RANGE",
            message: "\(partition) holds offset \(offset) where \(next) comes next: the topic was "
                + "recreated, or has lost records", isRetriable: false)
    }
}
