import AppStore
import AppStoreServer
import Foundation
import JSON
import Kafka
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology
import Worker

@testable import RecoveryStage

/// Questions about single purchases, outcomes, and the account with Apple.
@Suite(.timeLimit(.minutes(10))) struct RecoveryRequestTests {
    private typealias Rig = RecoveryRig
    private typealias Request = RecoveryRequestTable.Request

    /// A worker whose windows are read already, and a world of purchases.
    private static func rig() async throws -> (Rig, RecoveryStage) {
        let rig = try await Rig()
        let worker = try rig.worker()
        try await rig.turn(worker)
        _ = rig.take()
        return (rig, worker)
    }

    private static func ask(_ rig: Rig, _ kind: RecoveryRequestTable.Kind, _ id: String) async throws {
        let request = Request(app: Rig.app, kind: kind, subject: Identifier(id))
        _ = try await rig.client.run(RecoveryRequestTable.add, [request])
    }

    private static func result(_ rig: Rig, _ id: String) async throws -> String? {
        let rows = try await rig.client.query("SELECT result FROM recovery_requests WHERE subject = $1", [.text(id)])
        return rows.first?.optionalText(0)
    }

    @Test func `an order and a history become the bodies that Apple answers`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 30)
        try await Self.ask(rig, .order, "M\(id)")
        try await Self.ask(rig, .transactions, id)
        try await Self.ask(rig, .subscriptions, id)
        try await rig.turn(worker)
        let records = rig.take()
        let jobs = records.map { record in
            record.headers.first { $0.name == "recovery-job" }?.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        #expect(jobs.filter { $0 == "order" }.count == 1)
        #expect(jobs.filter { $0 == "transactions" }.count == 2)
        #expect(jobs.filter { $0 == "subscriptions" }.count == 1)
        for (record, job) in zip(records, jobs) where job != "subscriptions" {
            let root = try JSONDocument(parsing: try #require(record.value)).root
            #expect((root["signedTransactions"]?.count ?? 0) > 0)
        }
        #expect(try await rig.count("recovery_requests WHERE result = 'done'") == 3)
        await worker.outboxes[0].close()
    }

    @Test func `what Apple does not know or refuses is reported, and the others are answered`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 1)
        try await Self.ask(rig, .transactions, "999")
        try await Self.ask(rig, .transactions, "no/id")
        rig.apple.inject { $0.id == "7" ? .error(status: 400, code: 4_000_000) : nil }
        try await Self.ask(rig, .transactions, "7")
        try await Self.ask(rig, .transactions, id)
        try await rig.turn(worker)
        #expect(try await Self.result(rig, "999") == "not_found")
        #expect(try await Self.result(rig, "no/id") == "not_found")
        #expect(try await Self.result(rig, "7") == "refused")
        #expect(try await Self.result(rig, id) == "done")
        await worker.outboxes[0].close()
    }

    @Test(arguments: [false, true]) func `a fault of the settings settles no question`(isAppUnknown: Bool) async throws
    {
        let rig = try await Rig()
        let worker = try rig.worker()
        let id = try Self.addSubscription(to: rig, renewals: 1)
        try await Self.ask(rig, .transactions, id)
        try await Self.ask(rig, .order, "M\(id)")
        if isAppUnknown {
            rig.apple.inject { _ in .error(status: 404, code: 4_040_003) }
        } else {
            try FileManager.default.removeItem(atPath: rig.authorityFile)
        }
        await #expect(throws: APIFailure.self) { try await rig.turn(worker) }
        #expect(try await rig.count("recovery_requests WHERE result IS NULL") == 2)
        rig.apple.inject { _ in nil }
        try rig.apple.rootPEM.write(toFile: rig.authorityFile, atomically: true, encoding: .utf8)
        // A new key ends the wait that follows a refusal.
        try rig.replaceKey()
        try await rig.turn(worker)
        #expect(try await rig.count("recovery_requests WHERE result = 'done'") == 2)
        await worker.outboxes[0].close()
    }

    @Test func `a question that Apple cannot answer now is asked again, after the others`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 1)
        rig.apple.inject { $0.id == "7" ? .error(status: 500, code: 5_000_001) : nil }
        try await Self.ask(rig, .transactions, "7")
        try await Self.ask(rig, .transactions, id)
        try await rig.turn(worker)
        #expect(try await Self.result(rig, "7") == nil)
        #expect(try await Self.result(rig, id) == "done")
        rig.apple.inject { _ in nil }
        try await rig.wake()
        try await rig.turn(worker)
        #expect(try await Self.result(rig, "7") == "not_found")
        await worker.outboxes[0].close()
    }

    @Test func `a history whose revision is refused begins again and holds nothing else up`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 30)
        try await Self.ask(rig, .transactions, id)
        _ = try await rig.client.query("UPDATE recovery_requests SET revision = 'x'")
        rig.generate(3)
        try await rig.begin()
        try await rig.turn(worker)
        #expect(rig.take().count == 3)
        #expect(try await Self.result(rig, id) == nil)
        try await rig.wake()
        try await rig.turn(worker)
        #expect(try await Self.result(rig, id) == "done")
        let counts = try rig.take().map { record in
            try JSONDocument(parsing: try #require(record.value)).root["signedTransactions"]?.count
        }
        #expect(counts.compactMap(\.self).reduce(0, +) == 30)
        await worker.outboxes[0].close()
    }

    @Test func `a history that stops before its end is asked for again`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 30)
        rig.apple.inject { $0.endpoint == .transactionHistory && $0.number == 2 ? .emptyPage : nil }
        try await Self.ask(rig, .transactions, id)
        try await rig.turn(worker)
        #expect(try await Self.result(rig, id) == nil)
        try await rig.wake()
        try await rig.turn(worker)
        #expect(try await Self.result(rig, id) == "done")
        await worker.outboxes[0].close()
    }

    @Test func `while Apple is away no more than one question is tried at an endpoint`() async throws {
        let (rig, first) = try await Self.rig()
        await first.outboxes[0].close()
        let id = try Self.addSubscription(to: rig, renewals: 1)
        for kind in [RecoveryRequestTable.Kind.transactions, .refunds, .subscriptions] {
            try await Self.ask(rig, kind, id)
        }
        try await Self.ask(rig, .transactions, "101")
        rig.apple.stop()
        let start = try await rig.client.query("SELECT now()::text")[0].text(0)
        // It asks an endpoint every two seconds. A failure is stored sooner.
        let slow = try rig.worker(["RECOVERY_RATE_SHARE": "1"])
        await #expect(throws: APIFailure.self) { try await rig.turn(slow) }
        await slow.outboxes[0].close()
        #expect(try await rig.count("recovery_requests WHERE due_at > '\(start)'") == 3)
        try rig.apple.listen()
        let worker = try rig.worker()
        try await eventually {
            try await rig.wake()
            try? await rig.turn(worker)
            return try await rig.count("recovery_requests WHERE result IS NOT NULL") == 4
        }
        await worker.outboxes[0].close()
    }

    @Test func `the history is read while another endpoint of Apple's hangs`() async throws {
        let rig = try await Rig()
        rig.generate(3, days: 1, failingPercent: 100)
        _ = try await rig.client.query(
            "UPDATE recovery_windows SET read_until_ms = window_until_ms - $1", [.int8(2 * Rig.day)])
        _ = try Self.addSubscription(to: rig, renewals: 4)
        for id in ["100", "101", "102", "103"] { try await Self.ask(rig, .transactions, id) }
        rig.apple.inject { $0.endpoint == .transactionHistory ? .cutBody : nil }
        let worker = try rig.worker()
        await #expect(throws: APIFailure.self) { try await rig.turn(worker) }
        // Two jobs that list a notification at once both publish it.
        #expect(Set(Rig.uuids(rig.take())).count == 3)
        #expect(try await rig.count("recovery_windows WHERE completed_at IS NOT NULL") == 2)
        await worker.outboxes[0].close()
    }

    @Test func `a stale subscription is asked about once`() async throws {
        let (rig, worker) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 3)
        let now = Timestamp.now.milliseconds
        // The third is in billing retry.
        for (original, renewal) in [(id, 1), ("2", 4_000_000_000_000), ("3", now - 3 * Rig.day)] {
            _ = try await rig.client.query(
                """
                INSERT INTO renewals (environment, original_transaction_id, trust, signed_date_ms,
                    content_hash, auto_renew_status, renewal_date_ms, is_in_billing_retry)
                VALUES ('Production', $1, 'apple', 1, sha256(''), 1, $2, $1 = '3')
                """, [.text(original), .int8(renewal)])
            _ = try await rig.client.query(
                """
                INSERT INTO transactions (environment, bundle_id, transaction_id, track,
                    signed_date_ms, content_hash, trust, original_transaction_id, product_id,
                    purchase_date_ms)
                VALUES ('Production', $2, $1, 'jws', 1, sha256(''), 'apple', $1, 'p', 0)
                """, [.text(original), .text(Rig.app.bundleID.text)])
        }
        for _ in 1...2 {
            try await rig.wake()
            try await rig.turn(worker)
        }
        #expect(try await rig.count("recovery_requests WHERE kind = 'subscriptions'") == 1)
        #expect(try await Self.result(rig, id) == "done")
        #expect(rig.take().count == 1)
        await worker.outboxes[0].close()
    }

    @Test func `outcomes complete the account with Apple`() async throws {
        let rig = try await Rig()
        rig.generate(5, days: 1)
        let worker = try rig.worker()
        try await rig.turn(worker)
        let records = rig.take()
        let since = Timestamp(milliseconds: 0)
        func missing() async throws -> Int64 {
            try await rig.client.run(AppleAccountTable.counts, since).reduce(0) { $0 + $1.missing }
        }
        _ = try await rig.client.query("UPDATE apple_notifications SET first_published_at = '-infinity'")
        #expect(try await missing() == 5)
        // A client's ID, which the ingestion service has copied.
        let forged = NotificationID(
            environment: .production, uuid: Identifier(try #require(Rig.uuids([records[4]]).first)), nonce: "")
        let verdicts = try await worker.process([
            rig.answer(forged.record, .ignored), rig.answer(records[0], .applied), rig.answer(records[1], .duplicate),
            rig.answer(records[2], .ignored), rig.answer(records[3], .deadLettered),
            ConsumerRecord("outcomes", at: 9, key: Array("somebody".utf8), value: Array("{".utf8)),
        ])
        let dispositions = verdicts.map(\.disposition)
        #expect(dispositions == [.settled, .settled, .settled, .settled, .settled, .others])
        #expect(try await missing() == 1)
        // Held all the same, once it has come in otherwise.
        try await rig.hold(try #require(Rig.uuids([records[4]]).first))
        let counts = try #require(try await rig.client.run(AppleAccountTable.counts, since).first)
        #expect([counts.listed, counts.held, counts.ignored, counts.deadLettered, counts.missing] == [5, 3, 1, 1, 0])
        await worker.outboxes[0].close()
    }

    @Test func `a question waits as long as Apple has asked another copy to`() async throws {
        let (rig, first) = try await Self.rig()
        let id = try Self.addSubscription(to: rig, renewals: 1)
        rig.apple.inject { $0.endpoint == .transactionHistory && $0.number == 1 ? .rateLimit(.seconds(3)) : nil }
        try await Self.ask(rig, .transactions, id)
        try await Self.ask(rig, .transactions, "8")
        try await Self.ask(rig, .refunds, id)
        try await rig.turn(first)
        // The limit is for its endpoint alone.
        #expect(try await rig.count("recovery_requests WHERE result = 'done'") == 1)
        await first.outboxes[0].close()
        let second = try rig.worker()
        try await eventually {
            try await rig.turn(second)
            return try await rig.count("recovery_requests WHERE result IS NOT NULL") == 3
        }
        #expect(rig.apple.requests.allSatisfy { !$0.isTooEarly })
        await second.outboxes[0].close()
    }

    /// A subscription of the simulated world.
    ///
    /// - Returns: its original transaction ID.
    private static func addSubscription(to rig: Rig, renewals: Int) throws -> String {
        for period in 0..<renewals {
            var fields = TransactionFields()
            fields.transactionID = "\(100 + period)"
            fields.originalTransactionID = "100"
            fields.bundleID = Rig.app.bundleID.text
            fields.signedDate = 1_780_272_000_000 + Int64(period) * Rig.day
            rig.world.add(try rig.world.authority.sign(fields.json))
        }
        // Without one the subscription has no status.
        var renewal = RenewalFields()
        renewal.originalTransactionID = "100"
        rig.world.add(try rig.world.authority.sign(renewal.json))
        return "100"
    }
}

extension NotificationID {
    /// A record with its correlation ID.
    fileprivate var record: ProducerRecord {
        let header = KafkaHeader(nameBytes: RecordHeader.correlationID, value: correlationID)
        return ProducerRecord(topic: "raw", headers: [header])
    }
}
