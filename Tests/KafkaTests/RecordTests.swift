import TestSupport
import Testing

@testable import Kafka

@Suite(.timeLimit(.minutes(10))) struct RecordTests {
    /// Every way in which a key, a value or a header can be there, empty or missing.
    static let shapes: [ProducerRecord] = [
        ProducerRecord(topic: "", key: [1, 2], value: [3, 0, 255]), ProducerRecord(topic: "", key: nil, value: nil),
        ProducerRecord(topic: "", key: [], value: []), ProducerRecord(topic: "", key: [], value: nil),
        ProducerRecord(topic: "", key: nil, value: []),
        ProducerRecord(
            topic: "", value: [7],
            headers: [
                KafkaHeader(name: "a", value: [1]), KafkaHeader(name: "a", value: nil),
                KafkaHeader(name: "a", value: []), KafkaHeader(nameBytes: [0xff, 0xfe], value: [0]),
                // Read back as it was made: without what follows the NUL.
                KafkaHeader(nameBytes: Array("user\u{0}-id".utf8), value: [1]),
            ]),
    ]

    @Test(arguments: KafkaCluster.Kind.available)
    func `keys, values and headers come back byte for byte, null apart from empty`(kind: KafkaCluster.Kind) async throws
    {
        let cluster = try await KafkaCluster(kind)
        let topic = try await cluster.topic("shapes")
        let producer = try KafkaProducer(configuration: cluster.client)
        let sent = Self.shapes.map { shape in
            var record = shape
            record.topic = topic
            record.partition = 0
            return record
        }
        let report = await producer.send(sent)
        #expect(report.isComplete)
        #expect(report.offsets == Array(0..<Int64(sent.count)))
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        #expect(try await member.run { $0.records.count >= Self.shapes.count })
        let records = await member.records
        for (record, original) in zip(records, sent) {
            #expect(record.key == original.key)
            #expect(record.value == original.value)
            #expect(record.headers == original.headers)
            #expect(record.topicPartition == TopicPartition(topic: topic, partition: 0))
            #expect((record.timestampMilliseconds ?? 0) > 1_600_000_000_000)
        }
        #expect(records.map(\.offset) == Array(0..<Int64(sent.count)))
        await member.consumer.close(deadline: .seconds(5))
        await producer.close(deadline: .seconds(5))
    }

    @Test func `a poll ends at its bound in records and at its bound in bytes`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = try await cluster.topic("bounds")
        let producer = try KafkaProducer(configuration: cluster.client)
        let values = (0..<50).map { _ in ProducerRecord(topic: topic, value: Array(repeating: 1, count: 100)) }
        #expect(await producer.send(values).isComplete)
        let member = try GroupMember(cluster.consumer())
        try await member.consumer.subscribe([topic])
        try await eventually {
            try await member.step(recordsMax: 3)
            return await !member.records.isEmpty
        }
        #expect(await member.records.count <= 3)
        let before = await member.records.count
        try await member.step(bytesMax: 250)
        #expect(await member.records.count == before + 3)
        await member.consumer.close(deadline: .seconds(5))
        await producer.close(deadline: .seconds(5))
    }

    @Test func `waking ends a long poll`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let consumer = try KafkaConsumer(configuration: cluster.consumer())
        let clock = ContinuousClock()
        let start = clock.now
        async let result = consumer.poll(recordsMax: 1, bytesMax: 1, wait: .seconds(600))
        consumer.wake()
        #expect(try await result.records.isEmpty)
        // Far from both, whatever else the machine does: being woken and waiting to the end.
        #expect(clock.now - start < .seconds(300))
        await consumer.close(deadline: .seconds(2))
    }

    @Test func `a property that librdkafka does not know is named, a secret's value is not`() {
        let wrong = #expect(throws: KafkaError.self) { try KafkaProducer(configuration: ["no.such.thing": "1"]) }
        #expect(wrong?.code == .invalidConfiguration)
        #expect(wrong?.message.contains("no.such.thing") == true)
        let secret = #expect(throws: KafkaError.self) {
            try KafkaProducer(configuration: ["no.such.password": "hunter2"])
        }
        #expect(secret?.message.contains("hunter2") == false)
    }
}

struct HeaderTests {
    @Test func `names are kept once, and long ones and too many of them not at all`() {
        var names = HeaderNames()
        let long = String(repeating: "x", count: 65)
        for name in [long, "head", "head", String(long.dropLast())] { #expect(names.bytes(name) == Array(name.utf8)) }
        #expect(names.names.map(\.count) == [4, 64])
        for number in 0..<1_000 { #expect(names.bytes("name \(number)") == Array("name \(number)".utf8)) }
        #expect(names.names.count == 16)
    }
}
