import Kafka
import TestSupport
import Testing

/// Batches that decompress to many times their size.
@Suite(.timeLimit(.minutes(10)), .needsRealKafka) struct DecompressionTests {
    private static let limit = KafkaConsumer.decompressedBytesMax

    /// Creates a topic of one partition, whose broker compares compressed sizes with its limit.
    private func topic(_ cluster: KafkaCluster, codec: String = "producer") async throws -> String {
        try await cluster.topic("compressed", configuration: ["compression.type": codec])
    }

    /// Sends each value as a batch of its own.
    private func send(_ values: [[UInt8]], to topic: String, _ cluster: KafkaCluster, codec: String) async throws
        -> [KafkaError]
    {
        let properties = cluster.client.merging([
            "compression.type": codec, "message.max.bytes": "100000000", "queue.buffering.max.kbytes": "200000",
        ]) { $1 }
        return try await KafkaProducer.with(properties) { producer in
            var failures: [KafkaError] = []
            for value in values {
                let record = ProducerRecord(topic: topic, partition: 0, value: value)
                failures += await producer.send([record]).failures.values
            }
            return failures
        }
    }

    /// The values below an offset by the offsets of their records.
    private func values(below end: Int64, of topic: String, _ cluster: KafkaCluster) async throws -> [Int64: Int] {
        let partition = TopicPartition(topic: topic, partition: 0)
        var sizes: [Int64: Int] = [:]
        try await TopicScan.with(cluster.client) { scan in
            try await scan.read([partition: 0..<end]) { records in
                for record in records { sizes[record.offset] = record.value?.count }
            }
        }
        return sizes
    }

    @Test(arguments: ["gzip", "lz4", "zstd"])
    func `a batch above the limit is passed over, and what lies around it is read`(codec: String) async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await topic(cluster)
        let bomb = [UInt8](repeating: 0, count: Self.limit + 4_000_000)
        let sent = try await send([[1], bomb, bomb, [1, 2]], to: topic, cluster, codec: codec)
        #expect(sent.isEmpty)
        #expect(try await values(below: 4, of: topic, cluster) == [0: 1, 3: 2])
    }

    @Test(arguments: ["gzip", "lz4", "zstd"])
    func `batches within the limit are all read, also where one fetch holds several`(codec: String) async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await topic(cluster)
        let sizes = [1, 3, 2, 3, 3].map { $0 * Self.limit / 4 }
        let large = sizes.map { [UInt8](repeating: 0, count: $0) }
        #expect(try await send(large + [[1]], to: topic, cluster, codec: codec).isEmpty)
        let expected = Dictionary(uniqueKeysWithValues: zip(Int64(0)..., sizes + [1]))
        #expect(try await values(below: 6, of: topic, cluster) == expected)
    }

    /// The clients cannot limit snappy.
    @Test(arguments: [(20, true), (23, false)]) func `a broker's limit allows snappy less than 22 times as much`(
        times: Int, isAccepted: Bool
    ) async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await topic(cluster)
        let value = [UInt8](repeating: 0, count: times << 20)
        let failures = try await send([value, [1]], to: topic, cluster, codec: "snappy")
        #expect(failures.map(\.name) == (isAccepted ? [] : ["MSG_SIZE_TOO_LARGE"]))
        let end: Int64 = isAccepted ? 2 : 1
        #expect(try await values(below: end, of: topic, cluster) == (isAccepted ? [0: value.count, 1: 1] : [0: 1]))
    }

    /// A codec of the broker's own counts, too, but a size in it: lz4 holds 255 bytes in one.
    @Test(arguments: [
        ("producer", "gzip", true), ("lz4", "gzip", true), ("lz4", "lz4", true), ("zstd", "lz4", true),
        ("uncompressed", "gzip", false), ("uncompressed", "lz4", false), ("uncompressed", "zstd", false),
    ]) func `a topic without compression alone compares the records' own size with its limit`(
        topicCodec: String, codec: String, isAccepted: Bool
    ) async throws {
        let cluster = try await KafkaCluster(.real)
        let topic = try await topic(cluster, codec: topicCodec)
        let bomb = [UInt8](repeating: 0, count: 40_000_000)
        let failures = try await send([bomb], to: topic, cluster, codec: codec)
        #expect(failures.map(\.name) == (isAccepted ? [] : ["MSG_SIZE_TOO_LARGE"]))
    }
}
