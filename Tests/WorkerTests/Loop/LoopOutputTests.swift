import Kafka
import Records
import Synchronization
import TestSupport
import Testing
import Worker

/// The outputs of a batch are bounded, whatever its input.
@Suite(.timeLimit(.minutes(10))) struct LoopOutputTests {
    /// Brings a mebibyte out of every record, one record at a time.
    private final class BurstStage: Stage {
        struct State {
            var inHand = 0
            var inHandMax = 0
            var acknowledged: [Int64] = []
        }

        private let topic: String
        private let state = Mutex(State())

        init(topic: String) { self.topic = topic }

        var seen: State { state.withLock { $0 } }

        func process(_ records: [ConsumerRecord]) async throws -> [Verdict] {
            state.withLock { state in
                state.inHand += 1
                state.inHandMax = max(state.inHandMax, state.inHand)
            }
            let values = records[0].value ?? []
            let output = ProducerRecord(topic: topic, value: Array(repeating: values.first ?? 0, count: 1 << 20))
            return [Verdict(.forwarded, outputs: [output])]
        }

        func acknowledged(_ records: [ProcessedRecord]) async throws {
            state.withLock { state in
                state.inHand -= records.count
                state.acknowledged += records.map(\.record.offset)
            }
        }
    }

    @Test func `a small batch that brings out much is held in parts`() async throws {
        let rig = try await LoopRig()
        let stage = BurstStage(topic: rig.output)
        let worker = try rig.worker(stage) { $0.outputBytesInFlightMax = 3 << 20 }
        try await rig.publish((0..<40).map { [UInt8($0)] })
        worker.start()
        try await eventually { try await rig.committed()[0]?.offset == 40 }
        try await worker.stop()
        #expect(stage.seen.inHandMax <= 4)
        #expect(stage.seen.acknowledged == Array(0..<40))
        #expect(try await rig.tally() == StageTally(began: 0, counts: [.forwarded: 40], forwarded: 40))
    }

    @Test(arguments: 1...4) func `a stage may process the first records of a batch only`(processedMax: Int) async throws
    {
        let rig = try await LoopRig(partitions: 3)
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.processedMax = processedMax }
        let worker = try rig.worker(stage)
        let values = (0..<30).map { [UInt8($0)] }
        for (partition, part) in zip(Int32(0)..., [values[..<10], values[10..<20], values[20...]]) {
            try await rig.publish(Array(part), partition: partition)
        }
        worker.start()
        try await eventually { try await rig.committed(3).values.allSatisfy { $0.offset == 10 } }
        try await worker.stop()
        let written = try await rig.contents(rig.output).compactMap { $0.value?.first }
        #expect(written.sorted() == Array(0..<30))
        for partition in Int32(0)..<3 {
            let tally = StageTally(began: 0, counts: [.forwarded: 10], forwarded: 10)
            #expect(try await rig.tally(partition) == tally)
        }
    }
}
