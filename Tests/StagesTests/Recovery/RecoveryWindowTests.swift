import AppStore
import Foundation
import Kafka
import Postgres
import Simulation
import Store
import Synchronization
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// The comparison of Apple's list with the held notifications by `recovery-worker`.
@Suite(.timeLimit(.minutes(10))) struct RecoveryWindowTests {
    private typealias Rig = RecoveryRig

    @Test func `what is missing is published once, and what is held is not`() async throws {
        let rig = try await Rig()
        rig.generate(45)
        let worker = try rig.worker()
        try await rig.turn(worker)
        let all = Rig.uuids(rig.take())
        #expect(Set(all).count == 45 && all.count == 45)

        let other = try await Rig()
        other.generate(45)
        for uuid in all.prefix(40) { try await other.hold(uuid) }
        let second = try other.worker()
        try await other.turn(second)
        #expect(Set(Rig.uuids(other.take())) == Set(all.dropFirst(40)))
        #expect(try await other.count("apple_notifications WHERE outcome = 'held'") == 40)

        // On their way, they are not published again.
        try await other.wake()
        try await other.turn(second)
        #expect(other.take().isEmpty)
        _ = try await other.client.query(
            "UPDATE apple_notifications SET published_at = published_at - interval '61 minutes'")
        try await other.wake()
        try await other.turn(second)
        #expect(Rig.uuids(other.take()).count == 5)
        await worker.outboxes[0].close()
        await second.outboxes[0].close()
    }

    @Test func `a record is the notification as it came, with its job and correlation ID`() async throws {
        let rig = try await Rig()
        // In the first slice.
        rig.generate(1, days: 12, failingPercent: 100)
        let worker = try rig.worker()
        // The other job lists it too, and may publish it first.
        _ = try await rig.client.query("UPDATE recovery_windows SET due_at = 'infinity' WHERE job = 'complete'")
        try await rig.turn(worker)
        let record = try #require(rig.take().first)
        #expect(record.topic == "raw")
        let value = String(decoding: try #require(record.value), as: UTF8.self)
        #expect(value.hasPrefix(#"{"signedPayload":"eyJ"#))
        let headers = record.headers.map { "\($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self))" }
        let uuid = try #require(Rig.uuids([record]).first)
        #expect(
            headers == [
                "source=app-store-server-api", "recovery-job=missed", "recovery-page=0",
                "correlation-id=recovery/Production/\(uuid)/\(try await Self.nonce(rig))",
            ])
        await worker.outboxes[0].close()
    }

    private static func nonce(_ rig: Rig) async throws -> String {
        try await rig.client.query("SELECT nonce::text FROM apple_notifications")[0].text(0)
    }

    @Test func `a busy day at the edge of what Apple keeps is read page by page`() async throws {
        let rig = try await Rig()
        _ = try await rig.client.query("DELETE FROM recovery_windows")
        let earliest = RecoveryPlan.earliest(Rig.app, at: .now).milliseconds
        rig.world.generateNotifications(count: 45, dates: earliest + 3_600_000...earliest + 7_200_000)
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(Rig.uuids(rig.take()).count == 45)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 2)
        #expect(rig.log.count("page token expired, reading the slice again") == 0)

        // The same, after the page's token has lain for two days.
        _ = try await rig.client.query(
            """
            UPDATE recovery_windows SET due_at = now(), started_at = now(),
                completed_at = NULL, window_from_ms = $1, window_until_ms = $1 + 1, slices_left = 1
            WHERE job = 'complete'
            """, [.int8(earliest - 2 * Rig.day)])
        _ = try await rig.client.query(
            """
            INSERT INTO recovery_slices (environment, bundle_id, job, number, from_ms, until_ms,
                page_token)
            VALUES ('Production', $1, 'complete', 1, $2, $2 + 86400000, 'held')
            """, [.text(Rig.app.bundleID.text), .int8(earliest - 2 * Rig.day)])
        try await rig.turn(worker)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 2)
        #expect(rig.log.count("page token expired, reading the slice again") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `a run that began while the clock was ahead ends at the present`() async throws {
        let rig = try await Rig()
        _ = try await rig.client.query(
            """
            UPDATE recovery_windows
            SET window_until_ms = window_until_ms + $1, read_until_ms = window_until_ms - 3600000
            """, [.int8(400 * Rig.day)])
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(
            try await rig.count(
                """
                recovery_windows WHERE completed_at IS NOT NULL
                    AND completed_until_ms <= 1000 * extract(epoch FROM now())
                """) == 2)
        #expect(rig.apple.requests.count == 2)
        await worker.outboxes[0].close()
    }

    @Test func `a Retry-After without a wait is not answered by a request at once`() async throws {
        let rig = try await Rig()
        rig.apple.inject { _ in .rateLimit(.milliseconds(1)) }
        let worker = try rig.worker()
        try await rig.turn(worker)
        let requests = rig.apple.requests.map(\.time)
        #expect((1...2).contains(requests.count))
        let first = try #require(requests.min())
        #expect(try await rig.count("recovery_limits WHERE until_ms >= \(first + 1_000)") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `the job for failed deliveries lists these alone`() async throws {
        let rig = try await Rig()
        rig.generate(30, days: 1)
        rig.generate(7, days: 1, failingPercent: 100, seed: 50)
        let worker = try rig.worker()
        _ = try await rig.client.query("UPDATE recovery_windows SET due_at = 'infinity' WHERE job = 'complete'")
        try await rig.turn(worker)
        let records = rig.take()
        #expect(records.count == 7)
        #expect(records.allSatisfy { $0.headers.contains { $0.value == Array("missed".utf8) } })
        await worker.outboxes[0].close()
    }

    /// The steps of a page at which the worker fails.
    enum Step: CaseIterable { case listing, publishing, marking, moving }

    @Test(arguments: Step.allCases) func `a worker that fails at a step of a page loses and skips nothing`(step: Step)
        async throws
    {
        let rig = try await Rig()
        rig.generate(90, days: 1)
        try await Self.arm(step, rig)
        var published: [String] = []
        var deaths = 0
        try await eventually {
            rig.isBrokerDown.store(step == .publishing && deaths < 5, ordering: .releasing)
            let worker = try rig.worker()
            do { try await rig.turn(worker) } catch { deaths += 1 }
            await worker.outboxes[0].close()
            published += Rig.uuids(rig.take())
            return try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 2
        }
        #expect(deaths > 2)
        #expect(Set(published).count == 90)
        #expect(try await rig.count("apple_notifications WHERE published_at IS NULL") == 0)
    }

    /// Makes the database fail each statement of a step every second time.
    private static func arm(_ step: Step, _ rig: Rig) async throws {
        let occasion =
            switch step {
            case .listing: "BEFORE INSERT ON apple_notifications"
            case .marking: "BEFORE UPDATE OF published_at ON apple_notifications"
            case .moving: "BEFORE UPDATE OF page_number ON recovery_windows"
            case .publishing: ""
            }
        if !occasion.isEmpty { try await rig.failEverySecond(occasion) }
    }

    @Test func `a page's token that has expired costs one slice`() async throws {
        let rig = try await Rig()
        rig.generate(45, days: 1)
        let expiries = Atomic(0)
        rig.apple.inject { request in
            guard request.endpoint == .notificationHistory, request.isFurtherPage,
                expiries.add(1, ordering: .relaxed).newValue == 1
            else { return nil }
            return .expiredToken
        }
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(Set(Rig.uuids(rig.take())).count == 45)
        #expect(rig.log.count("page token expired, reading the slice again") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `a storm of 429 is obeyed, and a burst of 500 survived`() async throws {
        let rig = try await Rig()
        rig.generate(60, days: 1)
        try await rig.beginSlice()
        rig.apple.inject { request in
            switch request.number {
            case 2, 4, 5, 6: .rateLimit(.milliseconds(300))
            case 8, 9, 10: .error(status: 500, code: nil)
            default: nil
            }
        }
        let worker = try rig.worker()
        let end = ContinuousClock.now + .seconds(60)
        var published: Set<String> = []
        let isOver = "recovery_windows WHERE completed_at IS NOT NULL"
        while try await rig.count(isOver) == 0, ContinuousClock.now < end {
            try? await rig.turn(worker)
            published.formUnion(Rig.uuids(rig.take()))
        }
        #expect(published.count >= 55)
        #expect(rig.apple.requests.allSatisfy { !$0.isTooEarly })
        await worker.outboxes[0].close()
    }

    @Test func `a refused key stops the requests until it is replaced`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        try rig.replaceKey(isRegistered: false)
        let worker = try rig.worker()
        for _ in 1...3 {
            let failure = await #expect(throws: (any Error).self) { try await rig.turn(worker) }
            #expect("\(failure.map { "\($0)" } ?? "")".contains("check issuer ID, key ID"))
            // Both jobs over the history may have asked before the first answer.
            #expect((1...2).contains(rig.apple.requests.count))
        }
        try rig.replaceKey()
        try await rig.turn(worker)
        #expect(rig.take().count == 3)
        #expect(rig.log.count("key replaced") == 1)
        // A file that holds no key leaves the former one in use.
        try "no key".write(toFile: rig.keyPath, atomically: true, encoding: .utf8)
        try await rig.wake()
        try await rig.turn(worker)
        #expect(rig.log.count("key file invalid, former key stays in use") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `of two copies one asks Apple, and the other takes over`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        let (first, second) = (try rig.worker(), try rig.worker())
        try await rig.turn(first)
        let asked = rig.apple.requests.count
        try await rig.wake()
        try await rig.turn(second)
        #expect(rig.apple.requests.count == asked)
        await first.outboxes[0].close()
        // The server misses the first one's connection a moment later.
        try await eventually {
            try await rig.turn(second)
            return rig.apple.requests.count > asked
        }
        await second.outboxes[0].close()
    }

    @Test func `the copy that takes over waits as long as Apple has asked the other to`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        rig.apple.inject { $0.number == 1 ? .rateLimit(.seconds(3)) : nil }
        let (first, second) = (try rig.worker(), try rig.worker())
        try await rig.turn(first)
        #expect(rig.apple.requests.count == 1)
        await first.outboxes[0].close()
        var published: Set<String> = []
        try await eventually {
            try await rig.turn(second)
            published.formUnion(Rig.uuids(rig.take()))
            return published.count == 3
        }
        #expect(rig.apple.requests.allSatisfy { !$0.isTooEarly })
        await second.outboxes[0].close()
    }

    @Test func `an entry without a notification is counted until a whole run has none`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        rig.apple.inject { _ in .unreadableEntry }
        let worker = try rig.worker()
        func count() async throws -> Int64? {
            try await rig.client.run(RecoveryWindowTable.states).first { $0.job == .complete }?.completedUnreadable
        }
        try await rig.turn(worker)
        // One in the list of each of the twelve days.
        #expect(try await count() == 12)
        #expect(Rig.uuids(rig.take()).count == 3)
        rig.apple.inject { _ in nil }
        try await rig.wake()
        try await rig.turn(worker)
        #expect(try await count() == 0)
        await worker.outboxes[0].close()
    }

    @Test(arguments: [AppleFault.unknownKind, .foreignItem, .unreadableEntry, .emptyPage, .repeatedItem])
    func `a page with something unusual goes on`(fault: AppleFault) async throws {
        let rig = try await Rig()
        rig.generate(45, days: 1)
        try await rig.beginSlice()
        rig.apple.inject { $0.isFurtherPage && $0.number % 2 == 0 ? fault : nil }
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(Set(Rig.uuids(rig.take())).count >= 40)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `an app that has no key any more is forgotten`() async throws {
        let rig = try await Rig()
        _ = try await rig.client.query(
            """
            INSERT INTO recovery_windows (environment, bundle_id, job)
            VALUES ('Production', 'com.example.gone', 'complete')
            """)
        _ = try await rig.client.query(
            """
            INSERT INTO apple_notifications (environment, uuid, bundle_id, type, signed_date_ms)
            VALUES ('Production', '1', 'com.example.gone', 'TEST', 0)
            """)
        #expect(try await rig.client.run(AppleAccountTable.open)[0].count == 1)
        let worker = try rig.worker()
        try await rig.turn(worker)
        #expect(try await rig.client.run(AppleAccountTable.open)[0].count == 0)
        #expect(try await rig.count("recovery_windows") == 2)
        await worker.outboxes[0].close()
    }

    @Test func `no log event holds a token`() async throws {
        let rig = try await Rig()
        rig.generate(3)
        rig.apple.inject { _ in .error(status: 500, code: nil) }
        let worker = try rig.worker()
        let error = await #expect(throws: (any Error).self) { try await rig.turn(worker) }
        let events = rig.log.events.map { "\($0)" } + ["\(error.map { "\($0)" } ?? "")"]
        #expect(!events.contains { $0.contains("Bearer") || $0.contains("eyJ") })
        await worker.outboxes[0].close()
    }
}
