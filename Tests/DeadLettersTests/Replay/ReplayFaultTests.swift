import AppStore
import Kafka
import KitWrappers
import OpenSSL
import Postgres
import Records
import Store
import TestSupport
import Testing

@testable import DeadLetters

/// Letters that must not be sent, and conflicts of two replays.
@Suite(.timeLimit(.minutes(10))) struct ReplayFaultTests {
    @Test func `an altered dead letter is not sent, with the reason`() async throws {
        let rig = try await ReplayRig()
        let altered = try await rig.refuse(rig.bodies(1, "altered")) { $0.value = Array("another body".utf8) }
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

    @Test func `a value that was left out is read from its source, as long as that exists`() async throws {
        let rig = try await ReplayRig()
        let bodies = rig.bodies(2, "large")
        try await rig.refuse(bodies, value: .omitted)
        try await rig.add([rig.letter(ofGone: 0, value: .omitted)])
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

    @Test func `two replays at once share no letter, and one process runs each`() async throws {
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
        await #expect { try await rig.replays.run(number, who: rig.auditor) } throws: {
            ($0 as? ReplayError)?.code == .running
        }
        await holder.close()

        try await rig.replays.abandon(number, who: rig.auditor, why: "by mistake")
        #expect(try await rig.replays.prepare(rig.selection()).count == 20)
        await #expect { try await rig.replays.run(number, who: rig.auditor) } throws: {
            ($0 as? ReplayError)?.code == .finished
        }
        await rig.close()
    }

    @Test func `resolved and suppressed letters are left out unless they are named`() async throws {
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

    @Test func `without workers it ends and says so, and continues when they are back`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(60))
        var limits = ReplayRig.limits
        limits.waitMax = .seconds(1)
        let number = try await rig.begin([], limits)
        await #expect { try await rig.replays.run(number, who: rig.auditor, limits: { _ in limits }) } throws: {
            let error = $0 as? ReplayError
            return error?.code == .interrupted && error?.description.hasPrefix("nothing was decided for 1 s: ") == true
        }
        let row = try #require(try await rig.replays.replay(number))
        #expect(row.effectiveState == .interrupted)
        #expect(row.counts.sent == 20, "more was sent than is sent before outcomes come in")
        // Records sent before that are on the topic; a worker that is back reads them too.
        try await ReplayStage.running(rig, fromStart: true) { _ in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted)
        }
        await rig.close()
    }

    @Test func `refusals that the index has not read leave the outcomes open, and are named`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(4))
        var limits = ReplayRig.limits
        limits.waitMax = .seconds(2)
        let number = try await rig.begin([], limits)
        try await ReplayStage.running(rig, refusing: { _ in true }, isIndexing: false) { stage in
            await #expect { try await rig.replays.run(number, who: rig.auditor, limits: { _ in limits }) } throws: {
                let text = ($0 as? ReplayError)?.description ?? ""
                return text.contains("4 letters not read yet")
            }
            #expect(stage.read.count == 4)
        }
        #expect(try await rig.outcomes(number).allSatisfy { $0.sentAt != nil && $0.outcome == nil })
        try await rig.index()
        let last = try await rig.replays.run(number, who: rig.auditor)
        #expect(last.state == .completed && last.counts.refused == 4, "\(last)")
        await rig.close()
    }

    @Test func `without brokers it ends and says so, and continues when they are back`() async throws {
        let rig = try await ReplayRig()
        let mock = try #require(rig.cluster.mock)
        let bodies = rig.bodies(60)
        try await rig.refuse(bodies)
        let number = try await rig.begin()
        try await ReplayStage.running(rig) { stage in
            await #expect(throws: (any Error).self) {
                try await rig.replays.run(number, who: rig.auditor) { _ in try? mock.takeDown() }
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

    @Test func `a letter without a position and one that is gone stop no replay`() async throws {
        let rig = try await ReplayRig()
        // A strange letter cuts its chain: nothing vouches for the letter before it.
        let cut = try await rig.add([rig.letter(ofGone: 0)])
        try await rig.refuse(rig.bodies(1, "strange")) { letter in
            letter.headers.removeAll { $0.name == DeadLetterHeader.sourcePartition }
            letter.headers.append(KafkaHeader(name: DeadLetterHeader.sourcePartition, text: "-7"))
        }
        let good = rig.bodies(4, "good").filter { $0.partition == 1 }
        let ids = try await rig.refuse(good)
        // The index remembers a partition that the topic no longer has: the chain knows the
        // letter's position.
        let moved = try await rig.client.query(
            "UPDATE dead_letters SET letter_partition = 99 WHERE id = $1 RETURNING id", [.text(ids[0])])
        #expect(moved.count == 1)
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.count == 3 && plan.onNoChainCount == 1)
        let number = try await rig.begin()
        let read = try await ReplayStage.running(rig) { stage in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.state == .completed)
            #expect(last.counts.accepted == 2 && last.counts.unsent == 1)
            return stage.read
        }
        #expect(read.count == 2 && Set(read.map(\.value)) == Set(good.map(\.value)))
        let unsent = try await rig.outcomes(number).filter { $0.outcome == .unsent }
        #expect(unsent.map(\.letterID) == cut)
        await rig.close()
    }

    @Test func `a forged copy that claims a purchase is never sent`() async throws {
        let rig = try await ReplayRig()
        let body = ProducerRecord(
            topic: rig.rawTopic, partition: 0, value: Array("a purchase".utf8),
            headers: [KafkaHeader(name: "user-id", text: "alice")])
        let ids = try await rig.refuse([body])
        let genuine = try #require(try await rig.records(of: rig.letterTopic).first)
        let stolen = genuine.headers.map { $0.name == "user-id" ? KafkaHeader(name: "user-id", text: "mallory") : $0 }
        let digests = [
            DeadLetterHeader.sourceHeadSHA256, DeadLetterHeader.sourceSHA256, DeadLetterHeader.chainSHA256,
            DeadLetterHeader.previous,
        ]
        // Without its digests; and with digests and a link that fit.
        var consistent = stolen.filter { !digests.prefix(1).contains($0.name) }
        let own = DeadLetterLink.headDigest(key: nil, headers: [KafkaHeader(name: "user-id", text: "mallory")])
        consistent.append(KafkaHeader(name: DeadLetterHeader.sourceHeadSHA256, text: own.hex))
        consistent.removeAll { $0.name == DeadLetterHeader.chainSHA256 }
        let link = DeadLetterLink(consistent, after: nil).digest.hex
        consistent.append(KafkaHeader(name: DeadLetterHeader.chainSHA256, text: link))
        for headers in [stolen.filter { !digests.contains($0.name) }, consistent] {
            try await rig.add([
                ProducerRecord(topic: rig.letterTopic, partition: 0, value: genuine.value, headers: headers)
            ])
        }
        // The index may hold a forgery.
        _ = try await rig.client.query("UPDATE dead_letters SET letter_offset = 2")
        let read = try await ReplayStage.running(rig) { stage in
            let run = await ReplayToolTests.run(rig, "replay", "--all", "--send", "--why", "the attack")
            #expect(run.result.contains("on no chain: 0\ndiffer from source: 0\n"), "\(run.result)")
            return stage.read
        }
        let users = read.flatMap { $0.headers.filter { $0.name == "user-id" } }.map(\.value)
        #expect(users == [Array("alice".utf8)])
        #expect(try await rig.outcomes(1).map(\.letterID) == ids)
        await rig.close()
    }

    @Test func `a letter that is on no chain, or differs from its source, is counted, not sent`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(2, "good"))
        let forged = DeadLetterWriter(rig.context()).letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: rig.rawTopic, partition: 1), offset: 77,
                value: Array("invented".utf8)), Refusal(reason: .bundleMismatch, detail: "no app"), value: .original)
        let other = rig.letter(
            for: ConsumerRecord(
                topicPartition: TopicPartition(topic: rig.rawTopic, partition: 1), offset: 0,
                value: Array("another body than its source".utf8)), Refusal(reason: .bundleMismatch, detail: "no app"))
        try await rig.add([forged, other])
        let plan = try await rig.replays.prepare(rig.selection())
        #expect(plan.onNoChainCount == 1 && plan.differingCount == 1)
        let preview = await ReplayToolTests.run(rig, "replay", "--all")
        let text = "on no chain: 1\ndiffer from source: 1\n"
        #expect(preview.result.contains(text), "\(preview.result)")
        let json = await ReplayToolTests.run(rig, "replay", "--all", "--json")
        #expect(json.result.contains(#""on_no_chain":1,"differ_from_source":1"#))
        await rig.close()
    }
}
