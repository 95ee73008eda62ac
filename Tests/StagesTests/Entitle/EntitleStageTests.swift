import AppStore
import Entitlements
import EntitleStage
import Kafka
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Topology
import Worker

struct EntitleStageTests {
    @Test func `each record gets its own outcome`() async throws {
        let worker = try await EntitleWorker()
        let first = try Signed.transaction("1", signed: 1)
        var marked = first
        marked.isDuplicate = true
        let dispositions = try await worker.dispositions([
            first, first, try Signed.transaction("1", signed: 2), try Signed.transaction("1", signed: 1, revoked: 5),
            marked, try Signed.notification("TEST", signed: 1), try Signed.renewal("1", signed: 1, graceExpires: nil),
            try Signed.renewal("1", signed: 0, graceExpires: 99), try Signed.renewal("1", signed: 0, graceExpires: 99),
            Observation.relinking(Signed.key("1")), Observation.relinking(Signed.key("nobody's")),
        ])
        #expect(
            dispositions == [
                .applied, .unchanged, .unchanged, .unchanged, .unchanged, .recorded, .applied, .applied, .unchanged,
                .unchanged, .unchanged,
            ])
        #expect(try await worker.count("transactions") == 1)
        #expect(try await worker.count("renewals") == 1)
        #expect(try await worker.count("renewal_spans") == 1)
        #expect(try await worker.count("revisions") == 4)
        #expect(try await worker.count("notifications") == 1)
    }

    @Test func `a span of a kind that only a later version knows is left alone`() async throws {
        let worker = try await EntitleWorker()
        _ = try await worker.client.query(
            """
            INSERT INTO renewal_spans (environment, original_transaction_id, trust, kind, end_ms)
            VALUES ('Production', '1', 'apple', 'pause', 99)
            """)
        let renewal = try Signed.renewal("1", signed: 1, graceExpires: nil)
        #expect(try await worker.dispositions([renewal]) == [.applied])
        #expect(try await worker.count("renewal_spans WHERE kind = 'pause'") == 1)
    }

    @Test func `a relinked purchase is applied if its rows change`() async throws {
        let worker = try await EntitleWorker()
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        #expect(try await worker.rows().isEmpty)
        let anna = Ownership(userID: "anna", rule: .accountToken)
        try await worker.own([Signed.key("1"): anna])
        let relinking = Observation.relinking(Signed.key("1"))
        #expect(try await worker.dispositions([relinking]) == [.applied])
        #expect(try await worker.dispositions([relinking]) == [.unchanged])
        #expect(try await worker.rows()[Signed.key("1")]?.map(\.userID) == ["anna"])
    }

    @Test func `a refreshed revision raises the date that an older one must exceed`() async throws {
        let worker = try await EntitleWorker()
        for (signed, revoked) in [(1, nil), (3, nil), (2, 5)] as [(Int64, Int64?)] {
            _ = try await worker.process([try Signed.transaction("1", signed: signed, revoked: revoked)])
        }
        let row = try await worker.client.query("SELECT signed_date_ms, revocation_date_ms FROM transactions")[0]
        #expect(row.int8(0) == 3)
        #expect(row.isNull(1))
    }

    @Test func `a contradiction is a conflict, and the first statement counts`() async throws {
        let worker = try await EntitleWorker()
        let known = try Signed.transaction("1", signed: 1)
        let other = try Signed.transaction("1", signed: 9, product: "other")
        let good = try Signed.transaction("2", signed: 1)
        #expect(try await worker.dispositions([known]) == [.applied])
        let verdicts = try await worker.process([other, good])
        #expect(verdicts.map(\.disposition) == [.deadLettered, .applied])
        #expect(verdicts[0].refusal?.reason == .transactionConflict)
        #expect(verdicts[0].refusal?.detail.contains("productID") == true)
        #expect(try await worker.count("transactions") == 2)
    }

    @Test(arguments: [true, false], [VerificationFacts.Method.jws, .receipt])
    func `an ID that belongs to another purchase is a conflict`(inOneBatch: Bool, method: VerificationFacts.Method)
        async throws
    {
        let worker = try await EntitleWorker()
        let known = try Signed.transaction("1", signed: 1, original: "7")
        let contradicting = try Signed.transaction("1", signed: 2, original: "8").with {
            $0.verification.method = method
        }
        let foreign = [contradicting, try Signed.transaction("3", signed: 2, original: "8")]
        var dispositions: [Disposition] = []
        if inOneBatch {
            dispositions = try await worker.dispositions([known] + foreign)
        } else {
            dispositions = try await worker.dispositions([known])
            dispositions += try await worker.dispositions(foreign)
        }
        #expect(dispositions == [.applied, .deadLettered, .applied])
        #expect(try await worker.count("transactions") == 2)
        #expect(try await worker.count("revisions") == 2)
    }

    @Test func `one record that PostgreSQL will never take costs only itself`() async throws {
        let worker = try await EntitleWorker()
        // Owners have an index of users too, which link-worker would be refused by.
        _ = try await worker.client.query("DROP INDEX owners_of_user")
        let endless = (0..<9000).map { _ in String(Int.random(in: 0...9)) }.joined()
        try await worker.own([Signed.key("5"): Ownership(userID: Identifier(endless), rule: .ingestionClaim)])
        let verdicts = try await worker.process(try (1...9).map { try Signed.transaction("\($0)", signed: 1) })
        for (index, verdict) in verdicts.enumerated() {
            #expect(verdict.disposition == (index == 4 ? .deadLettered : .applied))
        }
        #expect(verdicts[4].refusal?.reason == .notStorable)
        #expect(try await worker.count("transactions") == 8)
    }

    @Test func `a record that is no observation is dead-lettered alone`() async throws {
        let worker = try await EntitleWorker()
        let whole = try Signed.transaction("1", signed: 1).record(at: 0)
        let lacking = ConsumerRecord(
            topicPartition: whole.topicPartition, offset: 0, value: whole.value?.dropLast(), headers: whole.headers)
        let verdicts = try await worker.stage.process([lacking, try Signed.transaction("2", signed: 1).record(at: 1)])
        #expect(verdicts.map(\.disposition) == [.deadLettered, .applied])
        #expect(verdicts[0].refusal?.reason == .observationMalformed)
    }

    @Test func `another catalog counts from the next batch on`() async throws {
        let worker = try await EntitleWorker()
        let anna = Ownership(userID: "anna", rule: .accountToken)
        try await worker.own([Signed.key("1"): anna, Signed.key("2"): anna])
        _ = try await worker.process([try Signed.transaction("1", signed: 1)])
        try await worker.apply(
            catalog: Array(#"{"products":{"pro":{"type":"auto-renewable","entitlements":["plus"]}}}"#.utf8))
        _ = try await worker.process([try Signed.transaction("2", signed: 1)])
        let rows = try await worker.rows()
        #expect(rows[Signed.key("1")]?.map(\.key) == ["pro"])
        #expect(rows[Signed.key("2")]?.map(\.key) == ["plus"])
    }

    @Test func `an unreadable catalog is no record's fault`() async throws {
        let worker = try await EntitleWorker()
        try await worker.apply(catalog: Array(#"{"products":[]}"#.utf8))
        await #expect { try await worker.process([try Signed.transaction("1", signed: 1)]) } throws: { error in
            "\(error)".hasPrefix("catalog version 1 cannot be read")
        }
        #expect(try await worker.count("transactions") == 0)
    }

    @Test func `without its tables the stage waits and refuses no record`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let worker = try await EntitleWorker(on: PostgresClient(options))
        await #expect(throws: PostgresError.self) { try await worker.process([try Signed.transaction("1", signed: 1)]) }
    }

    @Test func `unknown products and notification types are counted`() async throws {
        let worker = try await EntitleWorker()
        _ = try await worker.process([
            try Signed.transaction("1", signed: 1), try Signed.notification("NEVER_HEARD_OF", signed: 1),
        ])
        let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(text.contains(#"entitle_notifications_total{meaning="unknown_type"} 1"#))
        #expect(text.contains("entitle_unknown_products_total 1"))
    }

    @Test(arguments: ["Bundle", "Non-Consumable"]) func `a type unknown to this version grants nothing, and is counted`(
        type: String
    ) async throws {
        let worker = try await EntitleWorker()
        let key = Signed.key("1")
        try await worker.own([key: Ownership(userID: "anna", rule: .accountToken)])
        let payload = try Signed.json(
            """
            {"transactionId":"1","originalTransactionId":"1","bundleId":"\(Signed.bundleID)",
            "productId":"unheard-of","type":"\(type)","purchaseDate":10,
            "environment":"Production","signedDate":1}
            """)
        let observation = try Signed.transaction("1", signed: 1).with { $0.transaction = payload }
        _ = try await worker.process([observation])
        let isUnknown = ProductType(rawValue: type).isUnknown
        #expect(try await worker.count("transactions") == 1)
        #expect((try await worker.rows()[key]?.isEmpty ?? true) == isUnknown)
        let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(text.contains("entitle_unknown_product_types_total \(isUnknown ? 1 : 0)"))
    }
}
