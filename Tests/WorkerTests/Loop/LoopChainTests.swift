import AppStore
import Kafka
import OpenSSL
import Records
import TestSupport
import Testing
import Worker

/// The dead letters of each source partition are a chain, whatever happens to the workers.
@Suite(.timeLimit(.minutes(10))) struct LoopChainTests {
    /// A dead letter: the offset of its source, and what it names as the letter before it.
    private struct Link: Hashable {
        let offset: Int64
        let previous: String
    }

    private static func link(_ letter: ConsumerRecord) throws -> Link {
        func text(_ name: String) throws -> String {
            let header = letter.headers.first { $0.name == name }
            return String(decoding: try #require(header?.value ?? nil), as: UTF8.self)
        }
        return Link(offset: try #require(Int64(try text("dlq.source.offset"))), previous: try text("dlq.prev"))
    }

    /// The chain that letters of these offsets make.
    private static func chain(_ offsets: [Int64]) -> [Link] {
        var previous: SHA256Digest?
        return offsets.map { offset in
            let link = Link(offset: offset, previous: DeadLetterLink.text(of: previous))
            previous = PlainLetters.link(offset, after: previous)
            return link
        }
    }

    /// Refuses every record whose value is odd.
    private static func refusingOdd(_ output: String) -> FakeStage {
        FakeStage { record in
            guard record.value?.first.map({ $0 % 2 == 1 }) ?? false else {
                return Verdict(.forwarded, outputs: [ProducerRecord(topic: output, value: record.value)])
            }
            return .deadLettered(Refusal(reason: .signatureInvalid, detail: "odd"))
        }
    }

    @Test func `each letter names the one before it, over batches and restarts`() async throws {
        let rig = try await LoopRig()
        for round in 0..<3 {
            let worker = try rig.worker(Self.refusingOdd(rig.output)) { $0.batchRecordsMax = 3 }
            worker.start()
            try await rig.publish((0..<10).map { [UInt8($0)] })
            let end = Int64(10 * (round + 1))
            try await eventually { try await rig.committed()[0]?.offset == end }
            try await worker.stop()
        }
        let letters = try await rig.contents(rig.letters).map(Self.link)
        let expected = Self.chain((0..<30).filter { $0 % 10 % 2 == 1 })
        #expect(letters == expected)
        let committed = try await rig.committed()[0]
        let metadata = CommitMetadata(try #require(committed).metadata, counting: StageDescription.fake.dispositions)
        let last = try #require(expected.last)
        let head = PlainLetters.link(last.offset, after: SHA256Digest(hex: last.previous))
        #expect(metadata?.chainHead == head)
    }

    @Test func `letters written again after a crash are the same links`() async throws {
        let rig = try await LoopRig()
        let crashing = Self.refusingOdd(rig.output)
        crashing.order { $0.acknowledgeFaults = Array(repeating: FakeStage.Fault(), count: 999) }
        let first = try rig.worker(crashing) { configuration in
            configuration.batchRecordsMax = 4
            configuration.shutdownBudget = .zero
        }
        first.start()
        try await rig.publish((0..<10).map { [UInt8($0)] })
        try await eventually { try await !rig.contents(rig.letters).isEmpty }
        try await first.stop()
        let written = try await rig.contents(rig.letters).count
        #expect(try await rig.committed()[0]?.offset == nil)

        let second = try rig.worker(Self.refusingOdd(rig.output))
        second.start()
        try await eventually { try await rig.committed()[0]?.offset == 10 }
        try await second.stop()
        let letters = try await rig.contents(rig.letters).map(Self.link)
        #expect(letters.count == written + 5)
        #expect(Set(letters) == Set(Self.chain([1, 3, 5, 7, 9])))
    }

    @Test(.needsRealKafka) func `a record that its topic refuses takes its place in the chain`() async throws {
        let rig = try await LoopRig(.real, outputConfiguration: ["max.message.bytes": "2000"])
        let worker = try rig.worker(Self.refusingOdd(rig.output)) { configuration in
            configuration.producerProperties["compression.type"] = "none"
        }
        let large = Array(repeating: UInt8(2), count: 3_000)
        try await rig.publish([[1], large, [3], [4], large, [5]])
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 6 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters).map(Self.link)
        #expect(letters == Self.chain([0, 1, 2, 4, 5]))
    }

    @Test func `the letters of a partition lie in one partition`() async throws {
        let rig = try await LoopRig(partitions: 4, letterPartitions: 3)
        let worker = try rig.worker(Self.refusingOdd(rig.output))
        worker.start()
        for partition: Int32 in 0..<4 { try await rig.publish([[1], [3]], partition: partition) }
        try await eventually { try await rig.committed(4).values.allSatisfy { $0.offset == 2 } }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        let counts = letters.reduce(into: [Int32: Int]()) { counts, letter in
            counts[letter.topicPartition.partition, default: 0] += 1
        }
        #expect(counts == [0: 4, 1: 2, 2: 2])
    }
}
