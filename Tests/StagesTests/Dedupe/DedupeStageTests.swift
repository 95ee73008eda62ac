import AppStore
import Store
import Entitlements
import JSON
import Postgres
import Records
import TestSupport
import Testing
import Simulation
import Topology
import Worker

@testable import DedupeStage
@testable import Kafka

@Suite(.timeLimit(.minutes(10))) struct DedupeStageTests {
    /// A partition of `verified`, read by one worker after another.
    final class Reader {
        let client: PostgresClient
        var stage: DedupeStage
        var offset: Int64 = 0

        init() async throws {
            client = try await StageDatabase.make()
            stage = Self.stage(on: client)
        }

        static func stage(on client: PostgresClient, limits: OutputLimits? = nil) -> DedupeStage {
            DedupeStage(
                client: client, uniqueTopic: "storekit.unique", retention: .seconds(86_400),
                pruneInterval: .seconds(3600), limits: limits)
        }

        func process(_ samples: [Sample]) async throws -> (records: [ConsumerRecord], verdicts: [Verdict]) {
            let records = try samples.records(from: offset)
            offset += Int64(records.count)
            return (records, try await stage.process(records))
        }

        /// Processes one batch and acknowledges it.
        func settle(_ samples: [Sample]) async throws -> [Disposition] {
            let (records, verdicts) = try await process(samples)
            try await stage.acknowledged(records, verdicts)
            return verdicts.map(\.disposition)
        }

        /// A worker that knows only the memory in PostgreSQL.
        func restart() { stage = Self.stage(on: client) }
    }

    @Test(arguments: [true, false]) func `a state, another, and the first again are three revisions`(inOneBatch: Bool)
        async throws
    {
        let reader = try await Reader()
        let samples = [
            Sample.transaction("1", content: "A", signed: 1), Sample.transaction("1", content: "B", signed: 2),
            Sample.transaction("1", content: "A", signed: 3),
        ]
        if inOneBatch {
            #expect(try await reader.settle(samples) == [.forwarded, .forwarded, .forwarded])
        } else {
            for sample in samples { #expect(try await reader.settle([sample]) == [.forwarded]) }
        }
        #expect(try await reader.settle(samples) == [.duplicate, .superseded, .duplicate])
    }

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]], [true, false])
    func `in every order the greatest revision is forwarded and remembered`(order: [Int], inOneBatch: Bool) async throws
    {
        let reader = try await Reader()
        let revisions = [
            Sample.transaction("1", content: "A", signed: 1), Sample.transaction("1", content: "A", signed: 3),
            Sample.transaction("1", content: "B", signed: 2),
        ]
        let samples = order.map { revisions[$0] }
        var dispositions: [Disposition] = []
        if inOneBatch {
            dispositions = try await reader.settle(samples)
        } else {
            for sample in samples { dispositions += try await reader.settle([sample]) }
        }
        let newest = try #require(order.firstIndex(of: 1))
        #expect([.forwarded, .refreshed].contains(dispositions[newest]))
        reader.restart()
        #expect(try await reader.settle([revisions[1]]) == [.duplicate])
        #expect(try await reader.settle([revisions[2]]) == [.superseded])
        #expect(try await reader.settle([revisions[0]]) == [.duplicate])
    }

    /// A later stage may have refused it, and then its memory here is no reason to drop it.
    @Test func `what is known goes on whole if its body was sent again for a dead letter`() async throws {
        let reader = try await Reader()
        #expect(try await reader.settle([.transaction("1")]) == [.forwarded])
        let known = try [Sample.transaction("1")].records(from: 1)[0]
        let replayed = ConsumerRecord(
            topicPartition: known.topicPartition, offset: 2, key: known.key, value: known.value,
            headers: [KafkaHeader(nameBytes: RecordHeader.replayOf, value: Array("a1".utf8))])
        let verdicts = try await reader.stage.process([known, replayed])
        #expect(verdicts.map(\.disposition) == [.duplicate, .forwarded])
        #expect(verdicts[0].outputs.isEmpty)
        let output = try #require(verdicts[1].outputs.first)
        #expect(try !Observation(value: output.value).isDuplicate)
        #expect(output.headers == replayed.headers)
    }

    @Test func `one of the duplicates inside a batch is forwarded, byte for byte`() async throws {
        let reader = try await Reader()
        var sample = Sample.transaction("1")
        sample.headers = [KafkaHeader(name: "x", value: nil), KafkaHeader(name: "x", value: [])]
        let (records, verdicts) = try await reader.process([sample, sample, sample])
        #expect(verdicts.map(\.disposition) == [.forwarded, .duplicate, .duplicate])
        #expect(verdicts[0].outputs.count == 1)
        let output = try #require(verdicts[0].outputs.first)
        #expect(output.topic == "storekit.unique" && output.partition == nil)
        #expect(output.key == records[0].key && output.headers == records[0].headers)
        var observation = try Observation(value: output.value)
        #expect(observation.input == InputPosition(records[0]))
        observation.input = nil
        let former = observation.record(for: "verified")
        #expect(former.value == records[0].value && former.key == records[0].key)
        #expect(verdicts[1].outputs.isEmpty)
    }

    @Test func `the next batch knows forwarded records that are not marked yet`() async throws {
        let reader = try await Reader()
        let first = try await reader.process([.transaction("1")])
        let second = try await reader.process([.transaction("1"), .transaction("2")])
        #expect(first.verdicts.map(\.disposition) == [.forwarded])
        #expect(second.verdicts.map(\.disposition) == [.duplicate, .forwarded])
        try await reader.stage.acknowledged(first.records, first.verdicts)
        try await reader.stage.acknowledged(second.records, second.verdicts)
        reader.restart()
        #expect(try await reader.settle([.transaction("1"), .transaction("2")]) == [.duplicate, .duplicate])
    }

    @Test func `a crash between forward and mark forwards twice`() async throws {
        let reader = try await Reader()
        _ = try await reader.process([.transaction("1")])
        reader.restart()
        #expect(try await reader.settle([.transaction("1")]) == [.forwarded])
    }

    @Test func `a batch that is processed again is no duplicate of itself`() async throws {
        let reader = try await Reader()
        let (records, _) = try await reader.process([.transaction("1"), .transaction("2")])
        let again = try await reader.stage.process(records)
        #expect(again.map(\.disposition) == [.forwarded, .forwarded])
    }

    @Test func `the records in flight of a lost partition are forgotten`() async throws {
        let reader = try await Reader()
        let (records, _) = try await reader.process([.transaction("1")])
        await reader.stage.abandoned([records[0].topicPartition])
        #expect(try await reader.settle([.transaction("1")]) == [.forwarded])
    }

    @Test func `a duplicate that a request waits for is forwarded, marked`() async throws {
        let reader = try await Reader()
        _ = try await reader.settle([.transaction("1")])
        let waiting = Sample.transaction("1").with {
            $0.headers = [
                KafkaHeader(name: "correlation-id", text: "c-1"), KafkaHeader(name: "traceparent", text: "t-1"),
            ]
        }
        let (records, verdicts) = try await reader.process([waiting])
        #expect(verdicts.map(\.disposition) == [.duplicate])
        let output = try #require(verdicts[0].outputs.first)
        #expect(output.key == records[0].key)
        #expect(output.headers == waiting.headers)
        let observation = try Observation(value: output.value)
        #expect(observation.isDuplicate)
        #expect(observation.payloads[.transaction]?.elementsEqual(waiting.transaction?.json ?? []) == true)
    }

    /// The verdict with which the loop returns a record whose output no broker takes.
    private static let tooLarge = Verdict.deadLettered(Refusal(reason: .payloadTooLarge, detail: "test"))

    @Test func `a record that ends as a dead letter after all is not remembered`() async throws {
        let reader = try await Reader()
        let samples = [Sample.transaction("1"), .transaction("2"), .transaction("3")]
        var (records, verdicts) = try await reader.process(samples)
        verdicts[1] = Self.tooLarge
        try await reader.stage.acknowledged(records, verdicts)
        // Published again after the repair, to this worker and to one that was started since.
        #expect(try await reader.settle(samples) == [.duplicate, .forwarded, .duplicate])
        reader.restart()
        #expect(try await reader.settle(samples) == [.duplicate, .duplicate, .duplicate])
    }

    @Test func `a dead-lettered notification is forwarded when it comes again`() async throws {
        let reader = try await Reader()
        let notification = Sample.transaction("1").with {
            $0.notification = ObservedNotification(
                type: "DID_RENEW", subtype: nil, uuid: "uuid-1", signedDate: Timestamp(milliseconds: 1))
        }
        let (records, _) = try await reader.process([notification])
        try await reader.stage.acknowledged(records, [Self.tooLarge])
        #expect(try await reader.settle([notification]) == [.forwarded])
    }

    @Test func `a record too large to forward hides no later one`() async throws {
        let reader = try await Reader()
        let limits = OutputLimits(producerProperties: [:])
        reader.stage = Reader.stage(on: reader.client, limits: limits)
        limits.read(["storekit.unique": ["max.message.bytes": Self.setting("2000")]])
        let large = Sample.transaction("1").with {
            $0.headers = [KafkaHeader(name: "x", value: Array(repeating: 7, count: 2_000))]
        }
        let (_, verdicts) = try await reader.process([large, .transaction("1"), large])
        #expect(verdicts.map(\.disposition) == [.deadLettered, .forwarded, .duplicate])
        #expect(verdicts[0].refusal?.reason == .payloadTooLarge)
        // The batches overlap: nothing of the first is marked yet.
        #expect(try await reader.settle([large, .transaction("1")]) == [.duplicate, .duplicate])
    }

    @Test func `a raised limit is asked for before a record is refused by the old one`() async throws {
        let reader = try await Reader()
        let limits = OutputLimits(producerProperties: [:])
        reader.stage = Reader.stage(on: reader.client, limits: limits)
        limits.read(["storekit.unique": ["max.message.bytes": Self.setting("600")]])
        limits.setSource { ["storekit.unique": ["max.message.bytes": Self.setting("2097152")]] }
        let (_, verdicts) = try await reader.process([.transaction("1"), .transaction("2")])
        #expect(verdicts.map(\.disposition) == [.forwarded, .forwarded])
    }

    private static func setting(_ value: String) -> TopicSetting { TopicSetting(value: value, isSetOnTopic: true) }
}
