import AppStore
import AppStoreServer
import Postgres
import Simulation
import Store
import Synchronization
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// The endpoints of several apps beside each other, and lists that have no end.
@Suite(.timeLimit(.minutes(10))) struct RecoveryTurnTests {
    private typealias Rig = RecoveryRig
    private typealias Request = RecoveryRequestTable.Request

    /// Answers that are held back until a test lets them go.
    private final class Barrier: Sendable {
        private let state = Mutex((waiting: 0, most: 0, isOpen: false))

        var most: Int { state.withLock(\.most) }

        func open() { state.withLock { $0.isOpen = true } }

        func pass() async {
            state.withLock { state in
                state.waiting += 1
                state.most = max(state.most, state.waiting)
            }
            _ = await becomesTrue(within: .seconds(300)) { state.withLock(\.isOpen) }
            state.withLock { $0.waiting -= 1 }
        }
    }

    @Test func `as many requests are in flight as the bucket allows at 200 ms each`() async throws {
        let rig = try await Rig()
        rig.generate(200)
        let barrier = Barrier()
        rig.apple.delay { request in
            // They go one by one until the first is answered.
            if request.number > 1 { await barrier.pass() }
        }
        let worker = try rig.worker()
        try await rig.look(worker)
        // Both jobs count: each may have 16, of the 12 slices of this window.
        await eventually("0.8 of 50 requests a second, at 200 ms each, are in flight") { barrier.most >= 8 }
        barrier.open()
        try await rig.turn(worker)
        #expect(Set(Rig.uuids(rig.take())).count == 200)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 2)
        await worker.outboxes[0].close()
    }

    @Test func `purchases are finished while the history fails`() async throws {
        let rig = try await Rig()
        let worker = try rig.worker(["RECOVERY_FINISH": "true"])
        try await rig.turn(worker)
        let ids = Set((1...60).map { "\($0)" })
        for id in ids {
            try rig.world.sell(id)
            _ = try await rig.client.query(AppleWorld.storing(id))
        }
        rig.apple.inject { $0.endpoint == .notificationHistory ? .cutBody : nil }
        try await rig.begin()
        await #expect(throws: APIFailure.self) { try await rig.turn(worker) }
        #expect(Set(rig.world.finished) == ids)
        await worker.outboxes[0].close()
    }

    @Test func `an app whose server hangs costs another nothing`() async throws {
        let rig = try await Rig([.pro, .coins])
        rig.generate(5)
        rig.generate(5, of: .coins, seed: 2)
        let barrier = Barrier()
        rig.apple.delay { if $0.bundleID == DemoApp.coins.bundleID { await barrier.pass() } }
        let worker = try rig.worker()
        let over = "recovery_windows WHERE completed_at IS NOT NULL AND job = 'complete'"
        for round in 1...2 {
            _ = try await rig.client.query("UPDATE recovery_windows SET completed_at = NULL")
            try await rig.begin()
            await eventually("round \(round) of the other app is read") {
                try? await rig.look(worker)
                return (try? await rig.count(over)) == 1
            }
        }
        #expect(barrier.most > 0)
        barrier.open()
        await worker.outboxes[0].close()
    }

    @Test(arguments: [["again"], ["one", "two", "three"]])
    func `page tokens that come again end the reading of their slice until later`(tokens: [String]) async throws {
        let rig = try await Rig()
        rig.generate(3, days: 1)
        try await rig.beginSlice()
        rig.apple.inject { .nextToken(tokens[$0.number % tokens.count]) }
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(rig.apple.requests.count == tokens.count + 1)
        #expect(rig.log.count("page token repeats, reading the slice again later") == 1)
        #expect(try await rig.count("recovery_slices WHERE due_at > now()") == 1)
        rig.apple.inject { _ in nil }
        _ = try await rig.client.query("UPDATE recovery_slices SET due_at = now()")
        try await rig.turn(worker)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `a slice with ever new tokens goes on later, where it has got to`() async throws {
        let rig = try await Rig()
        try await rig.beginSlice()
        // An end far beyond the bound, so that a worker without a bound fails this test soon.
        rig.apple.inject { $0.number < 50 ? .nextToken("\($0.number)") : nil }
        let worker = try rig.worker(pages: PageTrail.Bounds(pagesMax: 5))
        try await rig.turn(worker)
        #expect(rig.apple.requests.count == 5)
        #expect(rig.log.count("slice without an end so far, reading on later") == 1)
        #expect(try await rig.count("recovery_slices WHERE due_at > now() AND page_token = '5'") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `a history whose revisions cycle or never end is asked for again later`() async throws {
        let rig = try await Rig()
        let worker = try rig.worker(pages: PageTrail.Bounds(pagesMax: 5))
        try await rig.turn(worker)
        for id in ["1", "2"] { try rig.world.sell(id) }
        rig.apple.inject { request in
            guard request.endpoint == .transactionHistory, request.number < 50 else { return nil }
            return .nextToken(request.id == "1" ? "\(request.number % 2)" : "\(request.number)")
        }
        for id in ["1", "2"] {
            let request = Request(app: Rig.app, kind: .transactions, subject: Identifier(id))
            _ = try await rig.client.run(RecoveryRequestTable.add, [request])
            try await rig.turn(worker)
        }
        #expect(rig.log.count("revision repeats, asking from the beginning later") == 1)
        #expect(rig.log.count("history without an end so far, reading on later") == 1)
        #expect(try await rig.count("recovery_requests WHERE due_at > now()") == 2)
        let asked = rig.apple.requests.count { $0.endpoint == .transactionHistory }
        #expect(asked <= 10)
        await worker.outboxes[0].close()
    }

    @Test(arguments: [403, 404, 408, 421]) func `an answer that is not Apple's ends no question`(status: Int)
        async throws
    {
        let rig = try await Rig()
        let worker = try rig.worker(["RECOVERY_FINISH": "true"])
        try await rig.turn(worker)
        try rig.world.sell("1")
        _ = try await rig.client.query(AppleWorld.storing("1"))
        rig.apple.inject { _ in .error(status: status, code: nil) }
        try await rig.turn(worker)
        #expect(try await rig.count("recovery_requests WHERE finished_at IS NULL") == 1)
        rig.apple.inject { _ in nil }
        _ = try await rig.client.query("UPDATE recovery_requests SET due_at = now()")
        try await rig.turn(worker)
        #expect(rig.world.finished == ["1"])
        await worker.outboxes[0].close()
    }

    @Test func `what Apple refuses for good is counted, and can be asked again`() async throws {
        let rig = try await Rig()
        let worker = try rig.worker(["RECOVERY_FINISH": "true"])
        try await rig.turn(worker)
        for id in ["1", "2"] {
            try rig.world.sell(id)
            _ = try await rig.client.query(AppleWorld.storing(id))
        }
        rig.apple.inject { request in
            guard request.endpoint == .finish else { return nil }
            return request.id == "1" ? .error(status: 400, code: 4_000_000) : .error(status: 404, code: 4_040_010)
        }
        try await rig.turn(worker)
        let counts = try await rig.client.run(RecoveryRequestTable.counts)
        #expect(counts.map { [$0.waiting, $0.unfinished] } == [[0, 2]])
        for (days, count) in [(8, 0), (-8, 2)] {
            _ = try await rig.client.query(
                "UPDATE recovery_requests SET finished_at = finished_at - interval '\(days) days', imported_at = now()")
            let known = try await rig.client.run(RecoveryRequestTable.counts)
            #expect(known.reduce(0) { $0 + $1.unfinished } == count, "an import's answers are kept for longer")
        }
        rig.apple.inject { _ in nil }
        let unfinished = Array(try await rig.client.run(RecoveryRequestTable.unfinished, (.production, nil)))
        _ = try await rig.client.run(RecoveryRequestTable.add, unfinished)
        try await rig.turn(worker)
        #expect(rig.world.finished.sorted() == ["1", "2"])
        #expect(try await rig.client.run(RecoveryRequestTable.counts).isEmpty)
        await worker.outboxes[0].close()
    }

    @Test func `a wait of hours is logged and shown, and ends when it is lifted`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        rig.apple.inject { $0.number == 1 ? .rateLimit(.seconds(90_000)) : nil }
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(rig.apple.requests.count == 1)
        #expect(rig.log.messages.count { $0.hasPrefix("Apple asks to wait for hours") } == 1)
        let held = try await rig.client.run(RecoveryLimitTable.held, .now)
        #expect(held.map(\.endpoint.name) == ["notifications"])
        await worker.outboxes[0].close()
        let second = try rig.worker()
        try await rig.look(second)
        let metrics = rig.metrics
        #expect(metrics.contains(#"endpoint="notifications"} 86"#))
        #expect(metrics.contains(#"endpoint="finish"} 0"#))
        _ = try await rig.client.run(RecoveryLimitTable.lift, (.production, nil, .now))
        rig.apple.forgetLimits()
        try await rig.turn(second)
        #expect(rig.take().count == 3)
        await second.outboxes[0].close()
    }

    @Test func `a wait that is lifted binds the copy that has met it no longer`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        rig.apple.inject { $0.number == 1 ? .rateLimit(.seconds(90_000)) : nil }
        let worker = try rig.worker()
        try await rig.turn(worker)
        _ = try await rig.client.run(RecoveryLimitTable.lift, (.production, nil, .now))
        rig.apple.forgetLimits()
        try await rig.turn(worker)
        #expect(rig.take().count == 3)
        await worker.outboxes[0].close()
    }

    @Test func `a repetition does not renew the hour in which a record is on its way`() async throws {
        let rig = try await Rig()
        rig.generate(5, days: 1)
        let worker = try rig.worker()
        try await rig.turn(worker)
        func states() async throws -> [Int64] {
            let counts = try await rig.client.run(AppleAccountTable.counts, .earliest)
            return counts.reduce(into: [0, 0]) { sum, count in
                sum[0] += count.onItsWay
                sum[1] += count.missing
            }
        }
        #expect(try await states() == [5, 0])
        _ = try await rig.client.query(
            """
            UPDATE apple_notifications SET published_at = published_at - interval '61 minutes',
                first_published_at = first_published_at - interval '61 minutes'
            """)
        _ = rig.take()
        try await rig.wake()
        try await rig.turn(worker)
        #expect(Set(Rig.uuids(rig.take())).count == 5)
        #expect(try await states() == [0, 5])
        // Published just now, they are not published again at once.
        try await rig.wake()
        try await rig.turn(worker)
        #expect(rig.take().isEmpty)
        await worker.outboxes[0].close()
    }

    @Test func `a clock that was set back costs no request`() async throws {
        let rig = try await Rig()
        rig.generate(45, days: 1)
        try await rig.beginSlice()
        // 90 s ahead when the run began.
        _ = try await rig.client.query("UPDATE recovery_windows SET window_until_ms = window_until_ms + 90000")
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(rig.apple.requests.count == 3)
        #expect(Set(Rig.uuids(rig.take())).count >= 40)
        await worker.outboxes[0].close()
    }

    @Test func `days that Apple lists no more are passed over, and not proven`() async throws {
        let rig = try await Rig()
        rig.generate(3, days: 1)
        _ = try await rig.client.query("UPDATE recovery_windows SET due_at = 'infinity' WHERE job = 'missed'")
        let requests = Atomic(0)
        // Days are asked for side by side: any three of those before the notifications.
        let recent = Timestamp.now.milliseconds - 2 * Rig.day
        rig.apple.inject { request in
            guard request.startDate.map({ $0 < recent }) == true, requests.add(1, ordering: .relaxed).newValue <= 3
            else { return nil }
            return .error(status: 400, code: 4_000_012)
        }
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(rig.take().count == 3)
        #expect(rig.log.count("day that Apple lists no more, passed over") == 3)
        let state = try await rig.client.run(RecoveryWindowTable.states).first { $0.job == .complete }
        let from = try #require(state?.completedFrom)
        #expect(from.milliseconds >= Timestamp.now.milliseconds - 9 * Rig.day - 3_600_000)
        await worker.outboxes[0].close()
    }

    @Test func `a second run writes no row that stays as it is`() async throws {
        let rig = try await Rig()
        rig.generate(30)
        let worker = try rig.worker()
        try await rig.turn(worker)
        let uuids = Rig.uuids(rig.take())
        for uuid in uuids.prefix(20) { try await rig.hold(uuid) }
        func versions() async throws -> [String] {
            try await rig.client.query("SELECT uuid || ' ' || ctid || ' ' || xmax FROM apple_notifications ORDER BY 1")
                .map { $0.text(0) }
        }
        let first = try await versions()
        try await rig.wake()
        try await rig.turn(worker)
        let second = try await versions()
        let written = Set(second).subtracting(first).compactMap { $0.split(separator: " ").first }
        #expect(Set(written.map(String.init)) == Set(uuids.prefix(20)))
        try await rig.wake()
        try await rig.turn(worker)
        #expect(try await versions() == second)
        await worker.outboxes[0].close()
    }
}
