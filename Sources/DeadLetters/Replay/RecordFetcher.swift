import Kafka
import Records

/// Reads single records by their positions, without a group: no worker is affected.
///
/// For one task at a time; `close()` ends it.
final class RecordFetcher {
    private let configuration: [String: String]
    private let admin: KafkaAdmin
    private let consumer: KafkaConsumer
    /// The next offset that `poll` returns of each assigned partition.
    private var next: [TopicPartition: Int64] = [:]
    /// Records read on the way that may be wanted next: seeking back costs a fetch.
    private var surplus: [RecordPosition: ConsumerRecord] = [:]
    private var surplusBytes = 0

    init(_ configuration: [String: String], admin: KafkaAdmin) throws {
        self.configuration = configuration
        self.admin = admin
        // Set because librdkafka requires a name; it is never joined.
        let own = ["group.id": "dead-letter-reader"]
        consumer = try KafkaConsumer(configuration: configuration.merging(own) { $1 })
    }

    func close() async {
        await consumer.close(deadline: Self.deadline)
    }

    /// The records at these positions; records that the topics no longer hold are left out.
    ///
    /// - Parameter positions: in partitions that exist.
    func records(
        at positions: some Collection<RecordPosition>
    ) async throws -> [RecordPosition: ConsumerRecord] {
        var wanted: [TopicPartition: [Int64]] = [:]
        var found: [RecordPosition: ConsumerRecord] = [:]
        for position in Set(positions) {
            if let record = surplus.removeValue(forKey: position) {
                surplusBytes -= record.payloadBytes
                found[position] = record
                continue
            }
            let partition = TopicPartition(topic: position.topic, partition: position.partition)
            wanted[partition, default: []].append(position.offset)
        }
        guard !wanted.isEmpty else { return found }
        let marks = try await admin.listOffsets(Array(wanted.keys), deadline: Self.deadline)
        for (partition, offsets) in wanted {
            let held = marks[partition].map { $0.low..<max($0.low, $0.high) } ?? 0..<0
            let sorted = offsets.filter(held.contains).sorted()
            wanted[partition] = sorted.isEmpty ? nil : sorted
        }
        return found.merging(try await read(wanted)) { $1 }
    }

    private func keep(_ record: ConsumerRecord) {
        if surplusBytes > Self.surplusBytesMax {
            surplus.removeAll()
            surplusBytes = 0
        }
        let former = surplus.updateValue(record, forKey: RecordPosition(record))
        surplusBytes += record.payloadBytes - (former?.payloadBytes ?? 0)
    }

    private func read(
        _ wanted: [TopicPartition: [Int64]]
    ) async throws -> [RecordPosition: ConsumerRecord] {
        var wanted = wanted
        var found: [RecordPosition: ConsumerRecord] = [:]
        var lastProgress = ContinuousClock.now
        try await go(to: wanted)
        while !wanted.isEmpty {
            let result = try await consumer.poll(
                recordsMax: Self.pollRecordsMax,
                bytesMax: Self.pollBytesMax,
                wait: .milliseconds(100)
            )
            if let denied = result.errors.first(where: { $0.error.code == .unauthorized }) {
                throw denied.error
            }
            for record in result.records {
                let partition = record.topicPartition
                next[partition] = record.offset + 1
                let offsets = wanted[partition] ?? []
                if offsets.contains(record.offset) {
                    found[RecordPosition(record)] = record
                } else {
                    keep(record)
                }
                let rest = offsets.drop { $0 <= record.offset }
                wanted[partition] = rest.isEmpty ? nil : Array(rest)
            }
            for end in result.ends {
                next[end.partition] = end.offset
                // The offset holds no record, or retention has just removed it.
                let rest = wanted[end.partition]?.drop { $0 < end.offset } ?? []
                wanted[end.partition] = rest.isEmpty ? nil : Array(rest)
            }
            if !result.records.isEmpty || !result.ends.isEmpty {
                lastProgress = .now
                try await go(to: wanted)
            } else if ContinuousClock.now - lastProgress > Self.deadline {
                throw result.errors.last?.error ?? KafkaError.deadline("reading single records")
            }
        }
        return found
    }

    /// Seeks to the next wanted record, unless it is near enough to read on.
    private func go(to wanted: [TopicPartition: [Int64]]) async throws {
        var added: [TopicPartition: Int64?] = [:]
        var sought: [TopicPartition: Int64] = [:]
        for (partition, offsets) in wanted {
            guard let first = offsets.first else { continue }
            if let position = next[partition] {
                if first < position || first > position + Self.gapMax {
                    sought[partition] = first
                }
            } else {
                added[partition] = first
            }
        }
        if !added.isEmpty {
            try await consumer.assign(with: added)
        }
        if !sought.isEmpty {
            try await consumer.seek(sought, deadline: Self.deadline)
        }
        next.merge(added.compactMapValues { $0 }) { $1 }
        next.merge(sought) { $1 }
    }

    private static let deadline = Duration.seconds(30)
    private static let pollRecordsMax = 500
    private static let pollBytesMax = 4 << 20
    private static let surplusBytesMax = 16 << 20
    /// Records that are read and dropped instead of a seek.
    private static let gapMax: Int64 = 500
}
