import AppStore
import Postgres
import Simulation
import Store
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// Purchases that are finished at Apple.
@Suite(.timeLimit(.minutes(10))) struct FinishTests {
    private typealias Rig = RecoveryRig

    /// A worker that finishes purchases, and has begun.
    private static func rig() async throws -> (Rig, RecoveryStage) {
        let rig = try await Rig()
        let worker = try rig.worker(["RECOVERY_FINISH": "true"])
        try await rig.turn(worker)
        return (rig, worker)
    }

    @Test func `each purchase with an owner is finished once, and no other is`() async throws {
        let (rig, worker) = try await Self.rig()
        for id in ["1", "2", "3", "4", "5"] { try rig.world.sell(id) }
        _ = try await rig.client.query(AppleWorld.storing("1"))
        _ = try await rig.client.query(AppleWorld.storing("2", owner: "NULL"))
        _ = try await rig.client.query(AppleWorld.storing("3", purchased: 0))
        _ = try await rig.client.query(AppleWorld.storing("4", app: "com.example.other"))
        // Its owner has changed, and it is not projected since.
        _ = try await rig.client.query(AppleWorld.storing("5"))
        _ = try await rig.client.query(
            """
            INSERT INTO owner_changes (environment, bundle_id, original_transaction_id, send_due_at)
            VALUES ('Production', $1, '5', now())
            """, [.text(Rig.app.bundleID.text)])
        for _ in 1...2 {
            try await rig.turn(worker)
            #expect(rig.world.finished == ["1"])
        }
        _ = try await rig.client.query("UPDATE owners SET user_id = 'bob'")
        _ = try await rig.client.query("DELETE FROM owner_changes")
        for _ in 1...2 {
            try await rig.wake()
            try await rig.turn(worker)
            #expect(rig.world.finished.sorted() == ["1", "2", "5"])
        }
        await worker.outboxes[0].close()
    }

    @Test func `without the setting nothing is finished any more`() async throws {
        let (rig, worker) = try await Self.rig()
        try rig.world.sell("1")
        _ = try await rig.client.query(AppleWorld.storing("1"))
        await worker.outboxes[0].close()
        let other = try rig.worker()
        try await eventually {
            try await rig.turn(other)
            return try await rig.count("recovery_requests") == 0
        }
        _ = try await rig.client.query(AppleWorld.storing("2"))
        #expect(try await rig.count("recovery_requests") == 0)
        #expect(rig.world.finished.isEmpty)
        await other.outboxes[0].close()
    }

    @Test func `a purchase whose row is not committed is not finished`() async throws {
        let (rig, worker) = try await Self.rig()
        try rig.world.sell("1")
        struct Killed: Error {}
        await #expect(throws: Killed.self) {
            try await rig.client.transaction { transaction in
                _ = try await transaction.query(AppleWorld.storing("1"))
                try await rig.turn(worker)
                throw Killed()
            }
        }
        try await rig.turn(worker)
        #expect(rig.world.finished.isEmpty)
        _ = try await rig.client.query(AppleWorld.storing("1"))
        try await rig.turn(worker)
        #expect(rig.world.finished == ["1"])
        await worker.outboxes[0].close()
    }

    /// The steps of finishing at which the worker fails, or Apple's server refuses.
    enum Step: CaseIterable {
        case deciding, asking
        /// Apple has finished the purchase, but its answer does not reach the worker.
        case answering
        case marking
    }

    @Test(arguments: Step.allCases) func `a worker that fails at a step finishes every purchase all the same`(
        step: Step
    ) async throws {
        let (rig, first) = try await Self.rig()
        await first.outboxes[0].close()
        switch step {
        case .deciding: try await rig.failEverySecond("BEFORE UPDATE OF due_at ON recovery_requests")
        case .marking: try await rig.failEverySecond("BEFORE UPDATE OF finished_at ON recovery_requests")
        case .answering: rig.apple.inject { $0.number % 2 == 1 ? .cutBody : nil }
        case .asking: rig.apple.inject { $0.number % 2 == 1 ? .error(status: 500, code: 5_000_001) : nil }
        }
        let ids = (1...9).map { "\($0)" }
        for id in ids {
            try rig.world.sell(id)
            _ = try await rig.client.query(AppleWorld.storing(id))
        }
        var deaths = 0
        try await eventually {
            let worker = try rig.worker(["RECOVERY_FINISH": "true"])
            do { try await rig.turn(worker) } catch { deaths += 1 }
            await worker.outboxes[0].close()
            if step == .asking || step == .answering { try await rig.wake() }
            return try await rig.count("recovery_requests WHERE result = 'done'") == 9
        }
        #expect(deaths > 2 || step == .asking)
        #expect(Set(rig.world.finished) == Set(ids))
        let isRepeated = rig.world.finished.count > ids.count
        // Requests in progress beside a failed one are finished and marked.
        #expect(isRepeated == [.answering, .marking].contains(step))
    }
}
