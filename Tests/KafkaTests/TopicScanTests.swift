import Kafka
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(10))) struct TopicScanTests {
    private let cluster: KafkaCluster
    private let topic: String

    init() async throws {
        cluster = try await KafkaCluster(.mock)
        topic = try await cluster.topic("scanned", partitions: 2)
        let records = (0..<200).map { number in
            ProducerRecord(topic: topic, partition: Int32(number % 2), value: [UInt8(number)])
        }
        let report = try await KafkaProducer.with(cluster.client) { await $0.send(records) }
        #expect(report.isComplete)
    }

    private func partition(_ number: Int32) -> TopicPartition { TopicPartition(topic: topic, partition: number) }

    /// Reads a range and compares the offsets that are visited, in their order.
    private func read(
        _ scan: TopicScan, _ range: Range<Int64>, of number: Int32 = 0, firstOnly: Bool = false,
        visits expected: some Sequence<Int64>
    ) async throws {
        var offsets: [Int64] = []
        try await scan.read([partition(number): range], firstOnly: firstOnly) { records in
            #expect(records.allSatisfy { $0.topicPartition == partition(number) })
            offsets += records.map(\.offset)
        }
        #expect(offsets == Array(expected))
    }

    @Test func `each range is visited once, whatever was read before`() async throws {
        try await TopicScan.with(cluster.client) { scan in
            try await read(scan, 0..<10, visits: 0..<10)
            // Offsets that came with the poll before, a part of them, and earlier ones.
            try await read(scan, 10..<20, visits: 10..<20)
            try await read(scan, 40..<50, visits: 40..<50)
            try await read(scan, 5..<15, visits: 5..<15)
            try await read(scan, 0..<100, of: 1, visits: 0..<100)
            try await read(scan, 90..<100, visits: 90..<100)
            try await read(scan, 30..<30, visits: [])
        }
    }

    /// An old librdkafka whose queue is full looks for room once a second unless it is told of some.
    @Test func `records are read as fast without their values as with them`() async throws {
        let value = [UInt8](repeating: 7, count: 4_000)
        let records = (0..<4_000).map { _ in ProducerRecord(topic: topic, partition: 0, value: value) }
        let report = try await KafkaProducer.with(cluster.client) { await $0.send(records) }
        #expect(report.isComplete)
        func time(takesValues: Bool) async throws -> Duration {
            try await ContinuousClock().measure {
                try await TopicScan.with(cluster.client, takesValues: takesValues) { scan in
                    try await scan.read([partition(0): 0..<4_100]) { _ in }
                }
            }
        }
        let whole = try await time(takesValues: true)
        let heads = try await time(takesValues: false)
        #expect(heads < whole * 3 + .seconds(1), "\(heads) without, \(whole) with values")
    }

    /// librdkafka looks for the leaders of topics that it does not know once a second.
    @Test func `topics that are added to a connected scan are read at once`() async throws {
        let count = 8
        var partitions: [TopicPartition] = []
        for number in 0..<count {
            partitions.append(TopicPartition(topic: try await cluster.topic("more-\(number)"), partition: 0))
        }
        let records = partitions.map { ProducerRecord(topic: $0.topic, partition: 0, value: [1]) }
        #expect(try await KafkaProducer.with(cluster.client) { await $0.send(records) }.isComplete)
        let time = try await ContinuousClock().measure {
            try await TopicScan.with(cluster.client) { scan in
                for partition in partitions { try await scan.read([partition: 0..<1]) { _ in } }
            }
        }
        #expect(time < .seconds(count / 2), "\(time)")
    }

    @Test func `one record of a range is enough where the first is asked for`() async throws {
        try await TopicScan.with(cluster.client, takesValues: false) { scan in
            try await read(scan, 7..<100, firstOnly: true, visits: [7])
            try await read(scan, 8..<100, firstOnly: true, visits: [8])
            try await read(scan, 8..<12, visits: 8..<12)
        }
    }

    @Test func `the progress counts offsets up to the whole`() async throws {
        try await TopicScan.with(cluster.client) { scan in
            var last: (Int64, Int64) = (0, 0)
            let ranges = [partition(0): Int64(0)..<100, partition(1): 50..<100]
            try await scan.read(ranges, progress: { last = ($0, $1) }) { _ in }
            #expect(last == (150, 150))
        }
    }

    @Test func `brokers that send nothing are named with the partition that waits`() async throws {
        let error = await #expect(throws: KafkaError.self) {
            try await TopicScan.with(cluster.client) { scan in
                try await scan.read([partition(1): 90..<120], silenceMax: .seconds(1)) { _ in }
            }
        }
        let text = error?.message ?? ""
        #expect(text.contains("1 partitions that are not read to their end"))
        #expect(text.contains("\(partition(1)) at offset 100 of 120"))
    }

    @Test func `without a deadline it waits for records until the task is cancelled`() async throws {
        let reading = Task {
            var count = 0
            do {
                try await TopicScan.with(cluster.client) { scan in
                    try await scan.read([partition(0): 95..<1_000], silenceMax: nil) { records in
                        count += records.count
                        if count == 5 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                }
            } catch is CancellationError {}
            return count
        }
        #expect(try await reading.value == 5)
    }
}
