import AppStore
import Kafka
import Postgres
import Records
import Store
import Synchronization
import TestSupport
import Testing

@testable import DeadLetters

/// Replays with a real Kafka protocol and a real PostgreSQL; the stage is played.
@Suite(.timeLimit(.minutes(10))) struct ReplayTests {
    @Test(arguments: KafkaCluster.Kind.available) func `all are sent byte for byte, accepted, and recorded`(
        kind: KafkaCluster.Kind
    ) async throws {
        let rig = try await ReplayRig(kind)
        var bodies = rig.bodies(40)
        bodies[0].value = nil
        bodies[1].value = []
        bodies[2].headers = [
            KafkaHeader(name: "dlq.reason", text: "a stranger's"),
            KafkaHeader(name: DeadLetterHeader.replayOf, text: "a former one"),
            KafkaHeader(nameBytes: [0xFF, 0x01], value: nil),
        ]
        try await rig.refuse(bodies)
        let number = try await rig.begin()
        #expect(try await rig.records(of: rig.rawTopic).count == 40, "sent before it was run")
        let read = try await ReplayStage.running(rig) { stage in
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.isAllAccepted, "\(last)")
            return stage.read
        }
        #expect(read.count == 40)
        let sent = Set(read.map { Self.content($0.key, $0.value, Self.own($0.headers)) })
        let expected = Set(bodies.map { Self.content($0.key, $0.value, Self.own($0.headers)) })
        #expect(sent.symmetricDifference(expected).isEmpty)
        for record in read {
            let replay = record.headers.filter { $0.name == DeadLetterHeader.replayOf }
            #expect(replay.count == 1)
            #expect(record.headers.filter { $0.name == DeadLetterHeader.attempt }.count == 1)
        }
        let row = try #require(try await rig.replays.replay(number))
        #expect(row.effectiveState == .completed && row.counts.accepted == 40)
        #expect(
            try await Self.actions(rig) == [
                "replay_accepted 40", "replay_completed 1", "replay_started 1", "replayed 40",
            ])
        await rig.close()
    }

    private static func own(_ headers: [KafkaHeader]) -> [KafkaHeader] {
        headers.filter { ![DeadLetterHeader.replayOf, DeadLetterHeader.attempt].contains($0.name) }
    }

    private static func content(_ key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader]) -> [[UInt8]?] {
        [key, value] + headers.flatMap { [$0.nameBytes, $0.value] }
    }

    static func actions(_ rig: ReplayRig) async throws -> [String] {
        try await rig.client.query(
            "SELECT action || ' ' || count(*) FROM dead_letter_actions GROUP BY action ORDER BY 1"
        ).map { $0.text(0) }
    }

    @Test func `a second refusal is reported with its reason, and its new letter stands for it`() async throws {
        let rig = try await ReplayRig()
        let ids = try await rig.refuse(rig.bodies(10))
        let refused = Array("body 3".utf8)
        try await ReplayStage.running(rig, refusing: { $0.value == refused }) { _ in
            let number = try await rig.begin()
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.state == .completed)
            #expect(last.counts.accepted == 9 && last.counts.refused == 1)
            let row = try #require(try await rig.outcomes(number).first { $0.outcome == .refused })
            #expect(row.letterID == ids[3])
            #expect(row.outcomeReason == "bundle_mismatch in verify: still not configured")
            try await rig.index()
            let letters = try await DeadLetterTable.get([row.refusedAs ?? ""], on: rig.client)
            #expect(letters.first?.attempt == 2)
            let plan = try await rig.replays.prepare(rig.selection())
            #expect(plan.letters.map(\.row.id) == [row.refusedAs])
            #expect(plan.skippedCounts == ["accepted_before": 9, "refused_again": 1])
        }
        await rig.close()
    }

    @Test func `a dry run of a letter whose body is on raw reads no other letter`() async throws {
        let rig = try await ReplayRig()
        let ids = try await rig.refuse(rig.bodies(20))
        let plan = try await rig.replays.prepare(rig.selection([ids[0]])) { step, _, _ in
            if case .reading = step { Issue.record("the chain was read") }
        }
        #expect(plan.letters.map(\.row.id) == [ids[0]])
        #expect(plan.letters.allSatisfy { $0.isSendable })
        await rig.close()
    }

    @Test func `the chain of a letter whose body is gone is read once, from that letter on`() async throws {
        let rig = try await ReplayRig()
        let ids = try await rig.add((0..<700).map { rig.letter(ofGone: $0) })
        // More than a chunk of letters too.
        for wanted in [100..<101, 698..<699, 400..<601] {
            var ends: [Int64] = []
            let plan = try await rig.replays.prepare(rig.selection(Array(ids[wanted]))) { step, done, total in
                if case .reading = step, done == total { ends.append(total) }
            }
            #expect(Set(plan.letters.map(\.row.id)) == Set(ids[wanted]))
            #expect(plan.letters.allSatisfy { $0.isSendable })
            #expect(ends == [Int64(700 - wanted.lowerBound)])
        }
        await rig.close()
    }

    /// A chain that continues in a partition added to the topic later has such letters.
    @Test func `a letter that its own partition does not vouch for is looked for in all`() async throws {
        let rig = try await ReplayRig()
        let ids = try await rig.refuse(rig.bodies(6))
        _ = try await rig.client.query("UPDATE dead_letters SET letter_partition = 1 - letter_partition")
        let plan = try await rig.replays.prepare(rig.selection([ids[0]]))
        #expect(plan.letters.map(\.row.id) == [ids[0]])
        #expect(plan.letters.allSatisfy { $0.isSendable })
        await rig.close()
    }

    @Test func `it stops after a few when too many are refused again, and is continued`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(200))
        let isMended = Flag()
        try await ReplayStage.running(rig, refusing: { _ in !isMended.isRaised }) { stage in
            let number = try await rig.begin()
            let last = try await rig.replays.run(number, who: rig.auditor)
            #expect(last.state == .stopped)
            #expect(stage.read.count <= 20, "\(stage.read.count) were sent")
            isMended.raise()
            let end = try await rig.replays.run(number, who: rig.auditor)
            #expect(end.state == .completed)
            #expect(last.counts.refused == last.counts.sent && last.counts.sent > 2)
            #expect(end.counts.refused == last.counts.refused)
            #expect(end.counts.accepted + end.counts.refused == 200)
            #expect(stage.read.count == 200)
        }
        await rig.close()
    }

    @Test func `a replay that ends at any step continues and skips nothing`() async throws {
        let rig = try await ReplayRig()
        let bodies = rig.bodies(120)
        try await rig.refuse(bodies)
        try await ReplayStage.running(rig) { stage in
            let number = try await rig.begin()
            var runs = 0
            while try await rig.replays.replay(number)?.state != .completed, runs < 100 {
                runs += 1
                // Each run gets one step further before its connection is cut.
                let steps = Mutex(runs)
                _ = try? await Task {
                    try await rig.replays.run(number, who: rig.auditor) { _ in
                        let rest = steps.withLock { steps in
                            steps -= 1
                            return steps
                        }
                        if rest == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                }.value
            }
            #expect(runs > 3 && runs < 100)
            let outcomes = try await rig.outcomes(number)
            #expect(outcomes.allSatisfy { $0.outcome == .accepted && $0.sentAt != nil })
            #expect(Set(stage.read.map(\.value)) == Set(bodies.map(\.value)))
        }
        await rig.close()
    }

    @Test func `a letter that is redacted while its replay runs is not sent`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(21))
        let number = try await rig.begin()
        // The last letter waits for outcomes of the others, as no stage reads yet.
        let run = Task { try await rig.replays.run(number, who: rig.auditor) }
        try await eventually("the first few have to be sent") {
            try await rig.replays.replay(number)?.counts.sent == 20
        }
        let last = try #require(try await rig.outcomes(number).first { $0.sentAt == nil })
        let action = NewDeadLetterAction(
            who: rig.auditor, kind: .redacted, why: "request 7", deadLetterID: last.letterID)
        try await DeadLetterActionTable.append([action], on: rig.client)
        try await ReplayStage.running(rig, fromStart: true) { stage in
            let end = try await run.value
            #expect(end.counts.accepted == 20 && end.counts.unsent == 1, "\(end)")
            let origins = stage.read.flatMap(\.headers).filter { $0.name == DeadLetterHeader.replayOf }.map(\.value)
            #expect(origins.count == 20 && !origins.contains(Array(last.letterID.utf8)))
        }
        let outcome = try await rig.outcomes(number).first { $0.ordinal == last.ordinal }
        #expect(outcome?.outcome == .unsent)
        #expect(outcome?.outcomeReason.contains("redacted") == true)
        await rig.close()
    }
}
