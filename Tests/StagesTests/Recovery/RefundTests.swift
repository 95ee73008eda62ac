import AppStore
import Postgres
import Simulation
import Store
import TestSupport
import Testing
import Worker

@testable import RecoveryStage

/// Apple's refund requests, from the notification to the answer.
@Suite(.timeLimit(.minutes(10))) struct RefundTests {
    private typealias Rig = RecoveryRig

    /// A worker that answers refund requests, and has begun.
    private static func rig(consented: String = "user", preference: String = "none") async throws -> (
        Rig, RecoveryStage
    ) {
        let rig = try await Rig(consented: consented, preference: preference)
        let worker = try rig.worker()
        try await rig.turn(worker)
        return (rig, worker)
    }

    @Test func `Apple is told with the customer's consent alone, and once`() async throws {
        let (rig, worker) = try await Self.rig()
        for (id, user) in [("1", "anna"), ("2", "ben"), ("3", "carl")] {
            try await rig.sell(id, to: user)
            try await rig.ask(id)
        }
        try await rig.consent("anna", true, "1")
        try await rig.consent("ben", true, "1")
        try await rig.consent("ben", false, "2")
        for _ in 1...2 {
            try await rig.turn(worker)
            #expect(
                rig.answers == [
                    #"1 {"customerConsented":true,"consumptionPercentage":0,"deliveryStatus":"DELIVERED","#
                        + #""sampleContentProvided":false}"#
                ])
            #expect(try await rig.outcomes() == ["1 answered", "2 no_consent", "3 waiting"])
        }
        // Carl says yes in time, and nobody asks him an hour before the deadline.
        try await rig.consent("carl", true, "1")
        try await rig.wake()
        try await rig.turn(worker)
        #expect(rig.answers.count == 2)
        #expect(rig.metrics.contains(#"recovery_refund_requests{result="answered"}"#))
        await worker.outboxes[0].close()
    }

    @Test func `a customer who says nothing until the last hour has not consented`() async throws {
        let (rig, worker) = try await Self.rig()
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        try await rig.turn(worker)
        #expect(try await rig.outcomes() == ["1 waiting"])
        #expect(try await rig.count("recovery_requests WHERE due_at > now() AND kind = 'consumption'") == 1)
        try await rig.leave(minutes: 59)
        try await rig.turn(worker)
        #expect(try await rig.outcomes() == ["1 no_consent"])
        #expect(rig.answers.isEmpty)
        await worker.outboxes[0].close()
    }

    @Test func `a customer who has refused is not told of, whatever the operator vouches`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        for (id, user) in [("1", "anna"), ("2", "ben")] { try await rig.sell(id, to: user) }
        try await rig.consent("anna", false, "1")
        for id in ["1", "2"] { try await rig.ask(id) }
        try await rig.turn(worker)
        #expect(try await rig.outcomes() == ["1 no_consent", "2 answered"])
        #expect(rig.answers.map { $0.prefix(1) } == ["2"])
        await worker.outboxes[0].close()
    }

    @Test func `requests from before the setting, and without it, are left alone`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1", age: 60_000)
        try await rig.turn(worker)
        #expect(try await rig.outcomes().isEmpty)
        await worker.outboxes[0].close()
        let other = try await Self.rig(consented: "never")
        try await other.0.sell("1", to: "anna")
        try await other.0.ask("1")
        try await other.0.turn(other.1)
        #expect(try await other.0.outcomes().isEmpty)
        await other.1.outboxes[0].close()
    }

    @Test func `what is not delivered yet waits, and is stated an hour before the deadline`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all", preference: "decline")
        for id in ["1", "2"] {
            try await rig.sell(id, to: "anna", isCredited: false)
            try await rig.ask(id)
        }
        try await rig.turn(worker)
        #expect(rig.answers.isEmpty)
        try await rig.credit("1", to: "anna")
        try await rig.leave(minutes: 59)
        try await rig.turn(worker)
        #expect(
            rig.answers.sorted() == [
                #"1 {"customerConsented":true,"consumptionPercentage":0,"deliveryStatus":"DELIVERED","#
                    + #""refundPreference":"DECLINE","sampleContentProvided":false}"#,
                #"2 {"customerConsented":true,"consumptionPercentage":0,"deliveryStatus":"UNDELIVERED_OTHER","#
                    + #""sampleContentProvided":false}"#,
            ])
        await worker.outboxes[0].close()
    }

    @Test func `after the deadline nothing is sent, loudly`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        try await rig.leave(minutes: 0)
        #expect(try await rig.outcomes() == ["1 late"])
        try await rig.turn(worker)
        #expect(try await rig.count("refund_requests WHERE outcome = 'late'") == 1)
        #expect(rig.answers.isEmpty)
        #expect(rig.log.count("refund request not answered in time") == 1)
        await worker.outboxes[0].close()
        let second = try rig.worker()
        try await rig.look(second)
        #expect(rig.metrics.contains(#"recovery_refund_requests{result="late"} 1"#))
        await second.outboxes[0].close()
    }

    @Test func `an answer that was stored is sent in the same words again`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all", preference: "grant_prorated")
        try await rig.sell("1", to: "anna")
        _ = try await rig.client.query("SELECT ledger_debit('anna', 'coins', 30, 'sword')")
        try await rig.ask("1")
        // Apple has it, but its response is lost.
        rig.apple.inject { $0.endpoint == .consumption && $0.number == 1 ? .cutBody : nil }
        await #expect(throws: (any Error).self) { try await rig.turn(worker) }
        _ = try await rig.client.query("SELECT ledger_debit('anna', 'coins', 40, 'shield')")
        await worker.outboxes[0].close()
        try await rig.wake()
        let second = try rig.worker()
        try await rig.turn(second)
        let words =
            #"1 {"customerConsented":true,"consumptionPercentage":30000,"deliveryStatus":"DELIVERED","#
            + #""refundPreference":"GRANT_PRORATED","sampleContentProvided":false}"#
        #expect(rig.answers == [words, words])
        #expect(try await rig.outcomes() == ["1 answered"])
        await second.outboxes[0].close()
    }

    @Test func `two copies that answer at one moment send the same words`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all", preference: "decline")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        let words =
            #"{"customerConsented":true,"consumptionPercentage":50000,"deliveryStatus":"DELIVERED","#
            + #""sampleContentProvided":false}"#
        let turn = try await rig.client.transaction { other in
            // Another copy stores its answer while this one is about to store its own.
            _ = try await other.query("UPDATE refund_requests SET answer = $1::json, evidence = '{}'", [.text(words)])
            let turn = Task { try await rig.turn(worker) }
            try await eventually {
                try await rig.count("pg_locks WHERE NOT granted AND locktype = 'transactionid'") > 0
            }
            return turn
        }
        try await turn.value
        #expect(rig.answers == ["1 " + words])
        #expect(try await rig.outcomes() == ["1 answered"])
        await worker.outboxes[0].close()
    }

    @Test func `a consent that is withdrawn before the answer arrives stops it`() async throws {
        let (rig, worker) = try await Self.rig()
        try await rig.sell("1", to: "anna")
        try await rig.consent("anna", true, "1")
        try await rig.ask("1")
        rig.apple.inject { $0.endpoint == .consumption ? .error(status: 500, code: nil) : nil }
        try await rig.turn(worker)
        try await rig.consent("anna", false, "2")
        rig.apple.inject { _ in nil }
        try await rig.wake()
        try await rig.turn(worker)
        #expect(rig.answers.isEmpty)
        #expect(try await rig.outcomes() == ["1 no_consent"])
        await worker.outboxes[0].close()
    }

    @Test func `an answer that Apple refuses ends with its code`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        rig.apple.inject { $0.endpoint == .consumption ? .error(status: 400, code: 4_000_209) : nil }
        try await rig.turn(worker)
        #expect(try await rig.count("refund_requests WHERE outcome = 'refused' AND error_code = 4000209") == 1)
        #expect(rig.log.count("answer to a refund request refused by Apple") == 1)
        await worker.outboxes[0].close()
    }

    @Test func `a person decides a request that is not answered yet, for good`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all", preference: "decline")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        func decide() async throws -> Bool {
            let rows = try await rig.client.query(
                "SELECT decide_refund('refund-1', 'Production', 'grant_full', 'eva', 'lost her phone')")
            return rows[0].bool(0)
        }
        #expect(try await decide())
        try await rig.turn(worker)
        #expect(rig.answers.first?.contains(#""refundPreference":"GRANT_FULL""#) == true)
        #expect(try await decide() == false)
        #expect(try await rig.count("refunds WHERE decided_by = 'eva' AND preference = 'grant_full'") == 1)
        await #expect(throws: PostgresError.self) { try await rig.client.query("DELETE FROM refund_acts") }
        await worker.outboxes[0].close()
    }

    @Test(arguments: [(true, 2), (false, 3)]) func `a purchase of Advanced Commerce is answered by the first version`(
        isCredited: Bool, status: Int
    ) async throws {
        let (rig, worker) = try await Self.rig(consented: "all", preference: "decline")
        try await rig.sell("1", to: "anna", isCredited: isCredited, items: #"[{"SKU":"film"}]"#)
        if isCredited { _ = try await rig.client.query("SELECT ledger_debit('anna', 'coins', 30, 'sword')") }
        try await rig.ask("1")
        try await rig.turn(worker)
        #expect(
            rig.answers == [
                #"1 {"accountTenure":0,"appAccountToken":"","consumptionStatus":\#(status),"customerConsented":true,"#
                    + #""deliveryStatus":0,"lifetimeDollarsPurchased":0,"lifetimeDollarsRefunded":0,"platform":0,"#
                    + #""playTime":0,"refundPreference":2,"sampleContentProvided":false,"userStatus":0}"#
            ])
        #expect(try await rig.count("refunds WHERE outcome = 'answered' AND preference = 'decline'") == 1)
        await worker.outboxes[0].close()
    }

    @Test(arguments: ["UPDATE refund_requests SET answer = '{}'", "DELETE FROM refund_requests"])
    func `nobody changes what Apple was told`(statement: String) async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        try await rig.sell("1", to: "anna")
        try await rig.ask("1")
        try await rig.turn(worker)
        await #expect(throws: PostgresError.self) { try await rig.client.query(statement) }
        await worker.outboxes[0].close()
    }

    @Test func `the catalog's rule for the product decides, by what is consumed`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        _ = try await rig.client.withConnection { connection in
            try await CatalogTable.apply(
                json: Array(
                    #"""
                    {"products":{"p":{"type":"consumable","credits":{"coins":100},
                     "refundPreference":[{"prefer":"decline","consumedPercent":50}]}}}
                    """#.utf8), on: connection)
        }
        for (id, user) in [("1", "anna"), ("2", "ben")] { try await rig.sell(id, to: user) }
        _ = try await rig.client.query("SELECT ledger_debit('anna', 'coins', 50, 'sword')")
        _ = try await rig.client.query("SELECT ledger_debit('ben', 'coins', 60, 'sword')")
        _ = try await rig.client.query("SELECT ledger_reverse('ben', 'sword', 'sorry')")
        _ = try await rig.client.query("SELECT ledger_debit('ben', 'coins', 49, 'shield')")
        for id in ["1", "2"] { try await rig.ask(id) }
        try await rig.turn(worker)
        let declined = rig.answers.filter { $0.contains("DECLINE") }
        #expect(declined.map { $0.prefix(1) } == ["1"])
        #expect(rig.answers.contains { $0.contains(#""consumptionPercentage":49000"#) })
        await worker.outboxes[0].close()
    }

    @Test func `Apple's decision is read from its notifications`() async throws {
        let (rig, worker) = try await Self.rig(consented: "all")
        for id in ["1", "2", "3"] {
            try await rig.sell(id, to: "anna")
            try await rig.ask(id)
        }
        try await rig.turn(worker)
        try await rig.ask("1", type: "REFUND", age: -1)
        try await rig.ask("2", type: "REFUND_DECLINED", age: -1)
        let rows = try await rig.client.query("SELECT coalesce(decision, '-') FROM refunds ORDER BY transaction_id")
        #expect(rows.map { $0.text(0) } == ["refunded", "declined", "-"])
        await worker.outboxes[0].close()
    }
}

extension RecoveryRig {
    /// Sells a consumable of 100 coins.
    func sell(_ id: String, to user: String, isCredited: Bool = true, items: String? = nil) async throws {
        try world.sell(id, type: "Consumable", items: items)
        _ = try await client.query(AppleWorld.storing(id, owner: "'\(user)'", purchased: 1_000))
        _ = try await client.query(
            "UPDATE transactions SET product_type = 'Consumable', items = $2::json WHERE transaction_id = $1",
            [.text(id), items.map { .text($0) } ?? .null])
        if isCredited { try await credit(id, to: user) }
    }

    func credit(_ id: String, to user: String) async throws {
        _ = try await client.query(
            """
            INSERT INTO ledger (environment, bundle_id, transaction_id, currency, original_transaction_id, product_id,
                user_id, amount, purchase_date_ms)
            VALUES ('Production', $1, $2, 'coins', $2, 'p', $3, 100, 1000)
            """, [.text(Self.app.bundleID.text), .text(id), .text(user)])
    }

    /// Stores Apple's notification, as `entitle-worker` does.
    ///
    /// - Parameter age: in milliseconds.
    func ask(_ id: String, type: String = "CONSUMPTION_REQUEST", age: Int64 = 0) async throws {
        _ = try await client.query(
            """
            INSERT INTO notifications (environment, uuid, bundle_id, type, meaning, signed_date_ms,
                original_transaction_id, transaction_id, source_topic, source_partition, source_offset)
            VALUES ('Production', $1, $2, $3, 'm', $4, $5, $5, 'raw', 0, 0)
            """,
            [
                .text(type == "CONSUMPTION_REQUEST" ? "refund-\(id)" : "\(type)-\(id)"), .text(Self.app.bundleID.text),
                .text(type), .int8(Timestamp.now.milliseconds - age), .text(id),
            ])
    }

    func consent(_ user: String, _ isConsented: Bool, _ reference: String) async throws {
        let rows = try await client.query(
            "SELECT set_refund_consent($1, $2, $3)", [.text(user), .bool(isConsented), .text(reference)])
        #expect(rows[0].bool(0) == isConsented)
    }

    /// Leaves the requests this time to their deadline, and makes them due.
    func leave(minutes: Int64) async throws {
        _ = try await client.query(
            "UPDATE refund_requests SET deadline_ms = $1", [.int8(Timestamp.now.milliseconds + minutes * 60_000)])
        _ = try await client.query("UPDATE recovery_requests SET due_at = now()")
    }

    func outcomes() async throws -> [String] {
        try await client.query("SELECT transaction_id || ' ' || outcome FROM refunds ORDER BY transaction_id").map {
            $0.text(0)
        }
    }

    /// The accepted answers, each after its transaction ID.
    var answers: [String] { world.refundAnswers.map { "\($0.id) \($0.body)" } }
}
