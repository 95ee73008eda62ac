import AppStore
import Kafka
import Postgres
import Records
import Store
import TestSupport
import Testing

@testable import DeadLetters

/// What must not be sent, and what two replays may not do at once.
@Suite(.timeLimit(.minutes(10))) struct ReplayFaultTests {
    @Test func `an altered dead letter is not sent, and it is said why`() async throws {
        let rig = try await ReplayRig()
        let altered = try await rig.refuse(rig.bodies(1, "altered")) {
            $0.value = Array("another body".utf8)
        }
        let headers = try await rig.refuse(rig.bodies(1, "headers")) {
            $0.headers.append(KafkaHeader(name: "user-id", text: "somebody else"))
        }
        try await rig.refuse(rig.bodies(2, "good"))
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.verdicts == ["unasked": 2, "unsendable": 2])
        #expect(!plan.isClean)
        let number = try await rig.begin()
        let read = try await ReplayStage.running(rig) { stage in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.counts.accepted == 2 && last.counts.unsent == 2)
            #expect(!last.isAllAccepted)
            return stage.read
        }
        #expect(read.allSatisfy { $0.value != Array("another body".utf8) })
        let unsent = try await rig.outcomes(number).filter { $0.outcome == .unsent }
        #expect(Set(unsent.map(\.letterID)) == Set(altered + headers))
        #expect(unsent.allSatisfy { $0.outcomeReason.contains("altered") })
        await rig.close()
    }

    @Test func `a value that was left out is read from its source, while that is there`()
        async throws
    {
        let rig = try await ReplayRig()
        let bodies = rig.bodies(2, "large")
        try await rig.refuse(bodies, value: .omitted)
        var gone = DeadLetterWriter(rig.context()).letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: rig.rawTopic, partition: 0),
                offset: 1_000_000,
                value: Array("removed by retention".utf8)
            ),
            Refusal(reason: .payloadTooLarge, detail: "too large"),
            value: .omitted
        )
        gone.partition = 0
        try await rig.add([gone])
        let number = try await rig.begin()
        let read = try await ReplayStage.running(rig) { stage in
            _ = try await rig.replays.run(number, who: rig.auditor)
            return stage.read
        }
        #expect(Set(read.map(\.value)) == Set(bodies.map(\.value)))
        let unsent = try await rig.outcomes(number).filter { $0.outcome == .unsent }
        #expect(unsent.count == 1)
        #expect(unsent.first?.outcomeReason.contains("is no longer there") == true)
        await rig.close()
    }

    @Test func `an observation is sent only as the stage wrote it, and to no foreign topic`()
        async throws
    {
        let rig = try await ReplayRig()
        let verified = rig.names.topicPrefix + Topic.verified
        let written = await rig.producer.send([
            ProducerRecord(topic: verified, partition: 0, value: Array("an observation".utf8))
        ])
        #expect(written.isComplete)
        let record = try #require(try await rig.records(of: verified).first)
        let refusal = Refusal(reason: .notStorable, detail: "refused by the database")
        let writer = DeadLetterWriter(rig.context("dedupe"))
        // The second names a record that dedupe-worker never read; the third a topic of others.
        let forged = [(verified, "forged"), ("payments", "stolen")].map { topic, value in
            ConsumerRecord(
                topicPartition: TopicPartition(topic: topic, partition: 0),
                offset: record.offset,
                timestampMilliseconds: record.timestampMilliseconds,
                value: Array(value.utf8)
            )
        }
        let ids = try await rig.add(
            ([record] + forged).map { writer.letter(for: $0, refusal, value: .original) }
        )
        let plan = try await rig.replays.prepare(rig.selection())
        let verdicts = Dictionary(
            uniqueKeysWithValues: plan.letters.map { ($0.row.id, $0.verdict) }
        )
        #expect(verdicts[ids[0]] == .worker("dedupe-worker"))
        #expect(verdicts[ids[1]]?.detail.contains("altered") == true)
        #expect(verdicts[ids[2]]?.detail.contains("no stage reads payments") == true)
        await rig.close()
    }

    @Test func `of two replays at once each letter is held by one, and one process runs each`()
        async throws
    {
        let rig = try await ReplayRig()
        let ids = try await rig.refuse(rig.bodies(20))
        let plan = try await rig.replays.prepare(rig.selection())
        async let first = try? rig.replays.begin(plan, who: rig.auditor, why: "one")
        async let second = try? rig.replays.begin(plan, who: rig.auditor, why: "two")
        let begun = await [first, second].compactMap(\.self)
        #expect(begun.count == 1 && begun[0].taken == 0)
        let part = try await rig.replays.prepare(rig.selection(ids))
        #expect(part.count == 0 && part.skippedCounts == ["held": 20])
        let number = try #require(begun.first?.number)

        // While one process holds it, no other one can run or abandon it.
        let holder = try await rig.client.connect()
        _ = try await ReplayLedger(number, who: rig.auditor, on: holder)
        #expect(try await rig.replays.replay(number)?.isHeld == true)
        await #expect {
            try await rig.replays.run(number, who: rig.auditor)
        } throws: { ($0 as? ReplayError)?.code == .running }
        await holder.close()

        try await rig.replays.abandon(number, who: rig.auditor, why: "by mistake")
        #expect(try await rig.replays.prepare(rig.selection()).count == 20)
        await #expect {
            try await rig.replays.run(number, who: rig.auditor)
        } throws: { ($0 as? ReplayError)?.code == .finished }
        await rig.close()
    }

    @Test func `resolved and suppressed letters are left out unless they are named`()
        async throws
    {
        let rig = try await ReplayRig()
        let ids = try await rig.refuse(rig.bodies(4))
        let actions = zip([DeadLetterAction.Kind.resolved, .suppressed], ids).map { kind, id in
            NewDeadLetterAction(who: rig.auditor, kind: kind, why: "known", deadLetterID: id)
        }
        try await DeadLetterActionTable.append(actions, on: rig.client)
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.count == 2)
        #expect(plan.skippedCounts == ["resolved": 1, "suppressed": 1])
        var named = rig.selection(Array(ids.prefix(2)) + ["no such letter"])
        #expect(try await rig.replays.prepare(named).count == 0)
        named.includesResolved = true
        let wanted = try await rig.replays.prepare(named)
        #expect(wanted.count == 2 && wanted.skippedCounts == ["not_indexed": 1])
        await rig.close()
    }

    @Test func `without workers it ends and says so, and goes on when they are back`()
        async throws
    {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(60))
        var limits = ReplayRig.limits
        limits.waitMax = .seconds(1)
        let number = try await rig.begin([], limits)
        await #expect {
            try await rig.replays.run(number, who: rig.auditor, limits: limits)
        } throws: { ($0 as? ReplayError)?.code == .interrupted }
        let row = try #require(try await rig.replays.replay(number))
        #expect(row.effectiveState == .interrupted)
        #expect(row.counts.sent == 20, "more was sent than is sent before outcomes come in")
        // What was sent meanwhile lies on the topic; a worker that is back reads it too.
        try await ReplayStage.running(rig, fromStart: true) { _ in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted)
        }
        await rig.close()
    }

    @Test func `without brokers it ends and says so, and goes on when they are back`()
        async throws
    {
        let rig = try await ReplayRig()
        let mock = try #require(rig.cluster.mock)
        let bodies = rig.bodies(60)
        try await rig.refuse(bodies)
        let number = try await rig.begin()
        try await ReplayStage.running(rig) { stage in
            await #expect(throws: (any Error).self) {
                try await rig.replays.run(number, who: rig.auditor) { _ in
                    try? mock.takeDown()
                }
            }
            let row = try #require(try await rig.replays.replay(number))
            #expect(row.effectiveState == .interrupted && row.note.contains("_"))
            try mock.bringUp()
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted)
            #expect(Set(stage.read.map(\.value)) == Set(bodies.map(\.value)))
        }
        await rig.close()
    }

    @Test func `a letter that names no position and one that is gone stop no replay`()
        async throws
    {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(2))
        let ids = try await rig.refuse(rig.bodies(2, "strange")) { letter in
            letter.headers.removeAll { $0.name == DeadLetterHeader.sourcePartition }
            letter.headers.append(
                KafkaHeader(name: DeadLetterHeader.sourcePartition, text: "-7")
            )
        }
        // The index remembers a partition that the topic does not have any more.
        _ = try await rig.client.query(
            "UPDATE dead_letters SET letter_partition = 99 WHERE id = $1",
            [.text(ids[0])]
        )
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.verdicts == ["unasked": 2, "unsendable": 2])
        await rig.close()
    }
}
