import AppStore
import Kafka
import KitWrappers
import Records
import TestSupport
import Testing
import Worker

@Suite(.timeLimit(.minutes(10))) struct WorkerLoopTests {
    @Test(arguments: KafkaCluster.Kind.available) func `records are forwarded, settled and committed with their tally`(
        kind: KafkaCluster.Kind
    ) async throws {
        let rig = try await LoopRig(kind, partitions: 3)
        let stage = FakeStage(forwardingTo: rig.output)
        let worker = try rig.worker(stage)
        worker.start()
        for partition in 0..<3 { try await rig.publish((0..<20).map { [UInt8($0)] }, partition: Int32(partition)) }
        try await eventually { try await rig.committed(3).values.allSatisfy { $0.offset == 20 } }
        for partition in 0..<3 {
            let tally = try await rig.tally(Int32(partition))
            #expect(tally == StageTally(began: 0, counts: [.forwarded: 20], forwarded: 20))
        }
        #expect(worker.health.isReady)
        try await worker.stop()
        #expect(try await rig.contents(rig.output).count == 60)
        #expect(stage.seen.acknowledged.count == 60)
    }

    @Test func `a stage is given no more records together than it takes`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.recordsMax = 3 }
        try await rig.publish((0..<20).map { [UInt8($0)] })
        let worker = try rig.worker(stage)
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 20 }
        #expect(stage.seen.batchSizes.max() == 3)
        stage.order { $0.recordsMax = .max }
        try await rig.publish((0..<20).map { [UInt8($0)] })
        try await eventually { try await rig.committed()[0]?.offset == 40 }
        #expect(stage.seen.batchSizes.max() ?? 0 > 3)
        try await worker.stop()
    }

    @Test func `a failed delivery commits nothing`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.close()
        let worker = try rig.worker(stage) { configuration in
            configuration.producerProperties["message.timeout.ms"] = "300"
        }
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { !stage.seen.processed.isEmpty }
        try rig.cluster.mock?.fail(.produce, with: Array(repeating: .requestTimedOut, count: 999))
        stage.open()
        await eventually { rig.log.count("dependency unavailable, retrying") == 1 }
        #expect(try await rig.committed()[0]?.offset == nil)
        #expect(stage.seen.acknowledged.isEmpty)
        #expect(!worker.health.isReady)
        try rig.cluster.mock?.clearFailures(.produce)
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        #expect(try await rig.tally() == StageTally(began: 0, counts: [.forwarded: 2], forwarded: 2))
        try await worker.stop()
    }

    @Test func `an unresolved record pins its partition`() async throws {
        let rig = try await LoopRig(partitions: 2)
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.acknowledgeFaults = Array(repeating: FakeStage.Fault(), count: 1_000) }
        let worker = try rig.worker(stage) { configuration in
            configuration.batchRecordsMax = 1
            configuration.batchesInFlightMax = 2
        }
        worker.start()
        try await rig.publish([[1], [2], [3]])
        await eventually { stage.seen.processed.count == 2 }
        await eventually { rig.log.count("dependency unavailable, retrying") == 1 }
        #expect(try await rig.committed()[0]?.offset == nil)
        stage.order { $0.acknowledgeFaults = [] }
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
    }

    @Test func `a stage that fails gets its batch again, and the group is kept`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.faults = Array(repeating: FakeStage.Fault(), count: 30) }
        let worker = try rig.worker(stage) { configuration in
            configuration.pauseAfter = .milliseconds(200)
            configuration.batchesInFlightMax = 1
        }
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { rig.log.count("partitions paused, too many batches in flight") == 1 }
        try await rig.publish([[3]])
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        #expect(rig.log.count("partitions assigned") == 1)
        #expect(rig.log.count("partitions resumed") == 1)
        #expect(rig.log.count("dependency unavailable, retrying") == 1)
        #expect(rig.log.count("dependency available again") == 1)
        try await worker.stop()
        #expect(try await rig.contents(rig.output).map(\.value) == [[1], [2], [3]])
    }

    @Test func `a tally resumes after a restart, and offsets that are gone are skipped`() async throws {
        let rig = try await LoopRig()
        try await rig.publish([[1], [2]])
        let first = try rig.worker(FakeStage(forwardingTo: rig.output))
        first.start()
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        try await first.stop()
        // Retention removes records that the group has not read yet.
        try await rig.fillBeyondRetention(count: 8)
        let low = try #require(try await rig.watermarks().first?.low)
        #expect((3..<10).contains(low))
        let second = try rig.worker(FakeStage { _ in Verdict(.ignored) })
        second.start()
        try await eventually { try await rig.committed()[0]?.offset == 10 }
        try await second.stop()
        let counts: [Disposition: Int64] = [.forwarded: 2, .skipped: low - 2, .ignored: 10 - low]
        #expect(try await rig.tally() == StageTally(began: 0, counts: counts, forwarded: 2))
        #expect(rig.log.count("offset gap, counted as skipped") == 1)
    }

    @Test func `a commit without a tally begins a new one, said loudly`() async throws {
        let rig = try await LoopRig()
        try await rig.publish([[1], [2], [3]])
        try await rig.commit(OffsetCommit(offset: 1, metadata: ""))
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        #expect(try await rig.tally() == StageTally(began: 1, counts: [.forwarded: 2], forwarded: 2))
        #expect(rig.log.count("commit metadata missing or unreadable, counts restart") == 1)
    }

    @Test func `offsets before an account are a gauge until they are stated, over restarts`() async throws {
        let rig = try await LoopRig()
        try await rig.publish([[1], [2], [3]])
        try await rig.commit(OffsetCommit(offset: 2, metadata: ""))
        let first = try rig.worker(FakeStage(forwardingTo: rig.output))
        first.start()
        await eventually { first.gauge("unaccounted_offsets") == 2 }
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await first.stop()
        var metadata = try #require(try await rig.metadata())
        let statement = AccountStatement(at: .earliest, by: "eva", reason: "read elsewhere")
        #expect(metadata.statement == nil)
        metadata.statement = statement
        let group = "stated"
        let commit = OffsetCommit(offset: 3, metadata: metadata.text)
        try await rig.commit(commit, for: group)
        for value in [4, 5] as [UInt8] {
            try await rig.publish([[value]])
            let next = try rig.worker(FakeStage(forwardingTo: rig.output)) { configuration in
                configuration.consumerProperties = rig.cluster.consumer(group: group)
            }
            next.start()
            try await eventually { try await rig.committed(by: group)[0]?.offset == Int64(value) }
            #expect(next.gauge("unaccounted_offsets") == 0)
            try await next.stop()
            let metadata = try await rig.metadata(by: group)
            #expect(metadata?.statement == statement)
            #expect(metadata?.tally.began == 2)
        }
    }

    @Test func `a tally that was copied from another cluster with its offset is not resumed`() async throws {
        let rig = try await LoopRig()
        try await rig.publish([[1], [2], [3]])
        let text = "v1 began=0 out=2 forwarded=2 cluster=former"
        try await rig.commit(OffsetCommit(offset: 2, metadata: text))
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        #expect(try await rig.tally() == StageTally(began: 2, counts: [.forwarded: 1], forwarded: 1))
        #expect(rig.log.count("commit metadata missing or unreadable, counts restart") == 1)
    }

    @Test func `a record's own fault is dead-lettered with its bytes, null apart from empty`() async throws {
        let rig = try await LoopRig()
        let facts = Refusal(reason: .signatureInvalid, detail: "test")
        let worker = try rig.worker(FakeStage { _ in .deadLettered(facts) })
        worker.start()
        let report = await rig.producer.send([
            ProducerRecord(topic: rig.raw, partition: 0, key: [9], value: [1, 0, 255]),
            ProducerRecord(topic: rig.raw, partition: 0, key: nil, value: nil),
            ProducerRecord(topic: rig.raw, partition: 0, key: [], value: []),
        ])
        #expect(report.isComplete)
        try await eventually { try await rig.committed()[0]?.offset == 3 }
        try await worker.stop()
        let letters = try await rig.contents(rig.letters)
        #expect(letters.map(\.value) == [[1, 0, 255], nil, []])
        #expect(letters.map(\.key) == [[9], nil, []])
        #expect(try await rig.tally() == StageTally(began: 0, counts: [.deadLettered: 3]))
    }

    @Test func `a fault ends where its records are in hand no longer`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.faults = Array(repeating: FakeStage.Fault(), count: 100_000) }
        let worker = try rig.worker(stage)
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually { rig.log.count("dependency unavailable, retrying") == 1 }
        #expect(!worker.health.isReady)
        // The partition goes, and does not come back for a while.
        let refusals = Array(repeating: MockError.groupAuthorizationFailed, count: 9_999)
        try rig.cluster.mock?.fail(.joinGroup, with: refusals)
        try rig.cluster.mock?.fail(.heartbeat, with: [.unknownMember])
        await eventually { rig.log.count("dependency available again") == 1 }
        #expect(rig.log.count("partitions lost, discarding batches in flight") == 1)
        #expect(worker.health.reason(.broker) == nil)
        stage.order { $0.faults = [] }
        try rig.cluster.mock?.clearFailures(.joinGroup)
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        #expect(worker.health.isReady)
        try await worker.stop()
    }

    @Test func `a producer that is recreated repeatedly is logged once`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        let worker = try rig.worker(stage)
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        stage.close()
        try await rig.publish([[2]])
        await eventually { stage.seen.processed.count == 2 }
        let refusals = Array(repeating: MockError.clusterAuthorizationFailed, count: 5)
        try rig.cluster.mock?.fail(.initProducerID, with: refusals)
        try rig.cluster.mock?.fail(.produce, with: Array(repeating: .outOfOrderSequence, count: 3))
        stage.open()
        try await eventually { try await rig.committed()[0]?.offset == 2 }
        // One for the sequence, one for all that may not begin.
        #expect(rig.log.count("producer failed, recreating it") == 2)
        try await worker.stop()
    }

    @Test func `a worker that may not read says so, is not ready and goes on when it may`() async throws {
        let rig = try await LoopRig()
        let refusals = Array(repeating: MockError.groupAuthorizationFailed, count: 9_999)
        try rig.cluster.mock?.fail(.joinGroup, with: refusals)
        let worker = try rig.worker(FakeStage(forwardingTo: rig.output))
        worker.start()
        try await rig.publish([[1]])
        let sentence = "not authorized to read, retrying"
        await eventually { rig.log.count(sentence) == 1 }
        #expect(worker.health.reason(.assigned)?.contains("GROUP_AUTHORIZATION_FAILED") == true)
        try rig.cluster.mock?.clearFailures(.joinGroup)
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        #expect(worker.health.isReady)
        #expect(rig.log.count(sentence) == 1)
        try await worker.stop()
    }
}
