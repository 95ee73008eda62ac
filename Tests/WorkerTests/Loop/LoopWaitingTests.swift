import Foundation
import Kafka
import Records
import Telemetry
import Testing
import TestSupport

@testable import Worker

/// The metrics of waiting records and of the worker's time.
@Suite(.timeLimit(.minutes(10))) struct LoopWaitingTests {
    @Test func `what waits is shown with its age, and nothing once it is settled`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.close()
        let worker = try rig.worker(stage)
        worker.start()
        try await rig.publish([[1], [2]])
        await eventually {
            worker.value("entitlements_lag_seconds") ?? 0 > 0.2
                && worker.value("entitlements_oldest_unsettled_seconds") ?? 0 > 0.2
        }
        let unread = try #require(worker.value("entitlements_lag_seconds"))
        let unsettled = try #require(worker.value("entitlements_oldest_unsettled_seconds"))
        #expect(unread < 30 && unsettled < 30)
        stage.open()
        await eventually {
            worker.value("entitlements_lag_seconds") == 0 && worker.value("entitlements_oldest_unsettled_seconds") == 0
                && worker.lag == 0
        }
        #expect(worker.value("entitlements_record_age_seconds_count") == 2)
        // They are forwarded to the next stage, which may end their way.
        #expect(worker.value("entitlements_body_age_seconds_count") == 0)
        try await worker.stop()
    }

    @Test func `a record that nobody asks for for hours is not late when it comes`() throws {
        var state = PartitionState(epoch: 1)
        state.beginAnew(at: 0)
        let hour: Int64 = 3_600_000
        #expect(state.waiting(before: Watermarks(low: 0, high: 0), at: hour).oldest == nil)
        _ = state.add(0, batch: 1, writtenAt: hour + 1, at: .now)
        let read = state.waiting(before: Watermarks(low: 0, high: 1), at: hour + 500)
        #expect(read.oldest == hour + 1)
        var increment = TallyIncrement()
        increment.add(.forwarded)
        state.settle(1, increment)
        // Hours later the next one is seen before it is read.
        let (idle, seen) = (3 * hour, 3 * hour + 1_000)
        #expect(state.waiting(before: Watermarks(low: 0, high: 1), at: idle).oldest == nil)
        let waiting = state.waiting(before: Watermarks(low: 0, high: 2), at: seen)
        #expect(waiting.records == 1)
        #expect(waiting.oldest == idle)
        // A held record keeps its age, even while no record is in flight.
        #expect(state.waiting(before: Watermarks(low: 0, high: 9), at: 4 * hour).oldest == idle)
    }

    @Test func `failed attempts are counted by their cause, and waiting for the next as retry`() async throws {
        let rig = try await LoopRig()
        let stage = FakeStage(forwardingTo: rig.output)
        stage.order { $0.faults = [FakeStage.Fault(), KafkaError.deadline("the test"), Caused()] }
        let worker = try rig.worker(stage)
        worker.start()
        try await rig.publish([[1]])
        try await eventually { try await rig.committed()[0]?.offset == 1 }
        for cause in ["other", "timeout", "overloaded"] {
            let name = "entitlements_infrastructure_faults_total"
            #expect(worker.value(#"\#(name){step="process",cause="\#(cause)"}"#) == 1)
        }
        let activities = ["database", "process", "retry", "acknowledgement", "commit", "poll"]
        let seconds = activities.map { worker.value(#"entitlements_time_seconds_total{activity="\#($0)"}"#) ?? -1 }
        #expect(seconds.allSatisfy { $0 >= 0 }, "\(seconds)")
        #expect(seconds[1] > 0 && seconds[2] > 0 && seconds[5] > 0, "\(seconds)")
        try await worker.stop()
    }

    private struct Caused: CausedFault { let cause = FaultCause.overloaded }
}
