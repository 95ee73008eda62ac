import AppStore
import Kafka
import Records
import Store
import TestSupport
import Testing
import Topology

@testable import DeadLetters

/// Replays of records that a stage after the first one refused: their bodies are sent.
@Suite(.timeLimit(.minutes(10))) struct ReplayedBodyTests {
    /// Writes one body to `raw`.
    private static func body(_ rig: ReplayRig) async throws -> ConsumerRecord {
        let written = await rig.producer.send(rig.bodies(1))
        #expect(written.isComplete)
        return try #require(try await rig.records(of: rig.rawTopic).first)
    }

    /// Observations of the source on `linked`, refused by entitle-worker.
    ///
    /// - Returns: the IDs of the letters.
    private static func refuse(_ rig: ReplayRig, _ observations: [Observation?]) async throws -> [String] {
        let linked = rig.names.topicPrefix + Topic.linked
        let written = await rig.producer.send(
            observations.map { observation in
                var record =
                    observation?.record(for: linked)
                    ?? ProducerRecord(topic: linked, value: Array("no observation".utf8))
                record.partition = 0
                return record
            })
        #expect(written.isComplete)
        let refusal = Refusal(reason: .notStorable, detail: "refused by the database")
        return try await rig.add(
            try await rig.records(of: linked).map { rig.letter(for: $0, refusal, stage: "entitle") })
    }

    private static func source(
        _ record: ConsumerRecord, topic: String? = nil, offset: Int64? = nil, later milliseconds: Int64 = 0
    ) -> ObservationSource {
        ObservationSource(
            RecordPosition(
                topic: topic ?? record.topicPartition.topic, partition: record.topicPartition.partition,
                offset: offset ?? record.offset),
            timestamp: record.timestampMilliseconds.map { Timestamp(milliseconds: $0 + milliseconds) })
    }

    @Test func `for two letters of a later stage their body is sent once, to raw alone`() async throws {
        let rig = try await ReplayRig()
        let body = try await Self.body(rig)
        let ids = try await Self.refuse(
            rig, try ["1", "2"].map { try Sample.observation($0, source: Self.source(body)) })
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.letters.map(\.verdict) == [.worker("entitle-worker"), .worker("entitle-worker")])
        let number = try await rig.begin()
        let read = try await ReplayStage.running(rig) { stage in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted, "\(last)")
            return stage.read
        }
        #expect(read.map(\.value) == [body.value])
        #expect(read.first?.key == body.key)
        let headers = read.first?.headers ?? []
        #expect(headers.first { $0.name == "correlation-id" } == body.headers.first)
        let origin = headers.first { $0.name == DeadLetterHeader.replayOf }?.value
        #expect(ids.map { Array($0.utf8) }.contains(origin))
        let outcomes = try await rig.outcomes(number)
        #expect(Set(outcomes.map(\.letterID)) == Set(ids))
        #expect(Set(outcomes.map(\.sent?.topic)) == [rig.rawTopic])
        #expect(try await rig.records(of: rig.names.topicPrefix + Topic.linked).count == 2)
        await rig.close()
    }

    @Test func `without its very body on raw a letter of a later stage is not sent`() async throws {
        let rig = try await ReplayRig()
        let body = try await Self.body(rig)
        let ids = try await Self.refuse(
            rig,
            try [Self.source(body, offset: 100), Self.source(body, later: 1), Self.source(body, topic: "payments")].map
            { try Sample.observation("1", source: $0) } + [nil])
        let plan = try await rig.replays.prepare(rig.selection())
        let verdicts = Dictionary(uniqueKeysWithValues: plan.letters.map { ($0.row.id, $0.verdict.detail) })
        let gone = "is no longer there: 'pipeline recover apple' fetches the purchase"
        for (id, detail) in zip(ids, [gone, gone, "no stage reads payments", "it names no body"]) {
            #expect(verdicts[id]?.contains(detail) == true, "\(verdicts[id] ?? "")")
        }
        await rig.close()
    }
}
