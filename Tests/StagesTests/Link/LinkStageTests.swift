import AppStore
import Entitlements
import Kafka
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Simulation
import Topology

@testable import LinkStage
import Worker

/// The four rules, on one purchase.
@Suite(.timeLimit(.minutes(10))) struct LinkStageTests {
    private static let anna = LinkWorker.anna
    private static let bob = LinkWorker.bob

    @Test func `an account token is compared without case`() async throws {
        let worker = try await LinkWorker()
        try await worker.link("account_token", Self.anna.uppercased(), "anna")
        #expect(try await worker.settle(.purchase("1", token: Self.anna)) == ["anna"])
        #expect(try await worker.settle(.purchase("2", token: Self.anna.uppercased())) == ["anna"])
    }

    @Test func `a purchase without an owner is forwarded with its headers`() async throws {
        let worker = try await LinkWorker()
        var sample = Sample.purchase("1", token: Self.anna)
        sample.headers = [KafkaHeader(name: "correlation-id", text: "c"), KafkaHeader(name: "traceparent", text: "t")]
        let (records, verdicts) = try await worker.process([sample])
        #expect(verdicts.map(\.disposition) == [.unresolved])
        let output = try #require(verdicts[0].outputs.first)
        #expect(output.topic == "storekit.linked")
        #expect(output.key == records[0].key)
        #expect(output.headers == sample.headers)
        let observation = try Observation(value: output.value)
        #expect(observation.input == InputPosition(records[0]))
        #expect(observation.owner == ObservedOwner(userID: nil, rule: "unlinked"))
        #expect(try await worker.owners() == ["1 nobody unlinked"])
    }

    @Test func `purchases of one owner are forwarded under the owner's key`() async throws {
        let worker = try await LinkWorker()
        try await worker.link("account_token", Self.anna, "anna")
        let (_, verdicts) = try await worker.process([
            .purchase("1", token: Self.anna), .purchase("2", token: Self.anna), .purchase("3", token: Self.bob),
        ])
        let keys = verdicts.map { $0.outputs[0].key.map { String(decoding: $0, as: UTF8.self) } }
        #expect(keys == ["Production/anna", "Production/anna", "Production/3"])
    }

    @Test(arguments: [[0, 1], [1, 0]]) func `the token of the latest purchase counts, not of the latest signature`(
        order: [Int]
    ) async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        let samples = [
            Sample.purchase("1", "1", at: 1_000, signed: 9, token: Self.anna),
            Sample.purchase("1", "2", at: 2_000, signed: 5, token: Self.bob),
        ]
        for index in order { try await worker.settle(samples[index]) }
        #expect(try await worker.owners() == ["1 bob account_token"])
        let spans = try await worker.client.query("SELECT spans::text FROM owners")
        #expect(spans[0].text(0) == #"[["anna",null],["bob",2000]]"#)
    }

    @Test func `a newer token without a link leaves the former owner`() async throws {
        let worker = try await LinkWorker()
        try await worker.link("account_token", Self.anna, "anna")
        try await worker.settle(.purchase("1", "1", at: 1_000, token: Self.anna))
        #expect(try await worker.settle(.purchase("1", "2", at: 2_000, token: Self.bob)) == ["anna"])
    }

    @Test func `a tokenless renewal before its purchase gets an owner with the purchase`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        #expect(try await worker.settle(.purchase("1", "2", at: 2_000)) == [nil])
        #expect(try await worker.settle(.purchase("1", "1", at: 1_000, token: Self.anna)) == ["anna"])
        #expect(try await worker.settle(.purchase("1", "2", at: 2_000)) == ["anna"])
    }

    @Test func `both get an owner if they arrive in one batch`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        let owners = try await worker.settle([
            .purchase("1", "2", at: 2_000), .purchase("1", "1", at: 1_000, token: Self.anna),
        ])
        #expect(owners == ["anna", "anna"])
    }

    @Test func `a link of the purchase itself has precedence`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.link("original_transaction_id", "1", "carl")
        #expect(try await worker.settle(.purchase("1", token: Self.anna)) == ["carl"])
        #expect(try await worker.owners() == ["1 carl original_transaction_link"])
    }

    @Test func `a link of this app and environment precedes one without them`() async throws {
        let worker = try await LinkWorker()
        try await worker.link("original_transaction_id", "1", "anyone")
        _ = try await worker.client.query(
            """
            INSERT INTO account_links (kind, environment, bundle_id, key, user_id) VALUES
                ('original_transaction_id', 'Production', 'com.example.pro', '1', 'anna'),
                ('original_transaction_id', 'Sandbox', '', '1', 'bob')
            """)
        #expect(try await worker.settle(.purchase("1")) == ["anna"])
        let sandbox = Sample.purchase("1").with { $0.environment = .sandbox }
        #expect(try await worker.settle(sandbox) == ["bob"])
        let other = Sample.purchase("1").with { $0.bundleID = "com.example.other" }
        #expect(try await worker.settle(other) == ["anyone"])
    }

    @Test func `the first of several users named for one transaction counts, in any order`() async throws {
        func named(_ user: Identifier, _ timestamp: Int64, _ offset: Int64 = 1) -> Sample {
            Sample.purchase("1", claim: user).with {
                $0.rawTimestamp = timestamp
                $0.rawOffset = offset
            }
        }
        let samples = [named("owner", 5, 1), named("zoe", 5, 2), named("zoe", 6), named("mallory", 7, 0)]
        for _ in 0..<12 {
            let worker = try await LinkWorker(OwnershipRules(trustsIngestion: true))
            for sample in samples.shuffled() { try await worker.settle(sample) }
            #expect(try await worker.owners() == ["1 owner ingestion_claim"])
            let text = String(decoding: worker.registry.exposition(), as: UTF8.self)
            let line = text.split(separator: "\n").last { $0.contains("contradicting_ingest_users") }
            let count = line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
            #expect(count >= 2, "each contradiction is counted")
        }
        let together = try await LinkWorker(OwnershipRules(trustsIngestion: true))
        try await together.settle(samples.reversed())
        #expect(try await together.owners() == ["1 owner ingestion_claim"])
    }

    @Test func `in identity mode the token is the user`() async throws {
        let worker = try await LinkWorker(OwnershipRules(tokensAreUserIDs: true))
        #expect(try await worker.settle(.purchase("1", token: Self.anna.uppercased())) == [Self.anna])
    }

    @Test func `a user named by ingestion is stored and counts only while it is trusted`() async throws {
        let worker = try await LinkWorker()
        #expect(try await worker.settle(.purchase("1", claim: "anna")) == [nil])
        #expect(try await worker.owners() == ["1 nobody untrusted_claim"])
        let trusting = try await LinkWorker(OwnershipRules(trustsIngestion: true), on: worker.client)
        #expect(try await trusting.settle(.purchase("1")) == ["anna"])
        #expect(try await worker.settle(.purchase("1")) == [nil])
        #expect(try await trusting.settle(.purchase("1", claim: "mallory")) == ["anna"], "the earliest record decides")
        #expect(try await trusting.settle(.purchase("1", "2", at: 2_000, claim: "bob")) == ["bob"])
        try await worker.linkTokens()
        #expect(try await trusting.settle(.purchase("1", "3", at: 3_000, token: Self.anna)) == ["anna"])
    }

    @Test func `renewal info names an owner only if no transaction has a token`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        let renewal = Sample.renewal("1", signed: 5) { $0.appAccountToken = Self.bob }
        #expect(try await worker.settle(renewal) == [nil])
        #expect(try await worker.settle(.purchase("1", "1")) == ["bob"])
        #expect(try await worker.settle(renewal) == ["bob"])
        #expect(try await worker.settle(.purchase("1", "2", at: 2_000, token: Self.anna)) == ["anna"])
        #expect(try await worker.settle(renewal) == ["anna"])
    }

    @Test func `renewal info of another trust belongs to no purchase`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        try await worker.settle(.purchase("1"))
        let forged = Sample.renewal("1") { $0.appAccountToken = Self.bob }.with {
            $0.trust = .configured(Sample.certificate)
        }
        #expect(try await worker.settle(forged) == [nil])
        #expect(try await worker.settle(.purchase("1")) == [nil])
    }

    @Test func `a foreign record is a dead letter, one without a user is forwarded`() async throws {
        let worker = try await LinkWorker()
        let good = try [
            Sample.purchase("1"),
            Sample(
                notification: ObservedNotification(
                    type: "TEST", subtype: nil, uuid: "u", signedDate: Timestamp(milliseconds: 1))),
        ].records()
        let bad = ConsumerRecord(topicPartition: good[0].topicPartition, offset: 9, value: nil)
        let verdicts = try await worker.stage.process([good[1], bad, good[0]])
        #expect(verdicts.map(\.disposition) == [.unresolved, .deadLettered, .unresolved])
        #expect(verdicts[1].refusal?.reason == .observationMalformed)
    }

    @Test func `a value that PostgreSQL never takes is one dead letter, the rest is linked`() async throws {
        let worker = try await LinkWorker()
        try await worker.linkTokens()
        // Stands for any value that PostgreSQL rejects.
        _ = try await worker.client.query(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.transaction_id = '5' THEN RAISE SQLSTATE '22023'; END IF;
                RETURN NEW;
            END $$
            """)
        _ = try await worker.client.query(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON ownership_facts
                FOR EACH ROW EXECUTE FUNCTION refuse()
            """)
        let samples = (0..<9).map { Sample.purchase("\($0)", token: Self.anna) }
        let (_, verdicts) = try await worker.process(samples)
        for (index, verdict) in verdicts.enumerated() {
            #expect(verdict.disposition == (index == 5 ? .deadLettered : .resolved))
        }
        #expect(verdicts[5].refusal?.reason == .notStorable)
        #expect(verdicts[5].refusal?.unverified.transactionID == "5")
        #expect(try await worker.owners().count == 8)
    }

    @Test func `an operator's own constraint holds the record, and makes no dead letter`() async throws {
        let worker = try await LinkWorker()
        _ = try await worker.client.query(
            """
            ALTER TABLE ownership_facts
            ADD CONSTRAINT of_the_company CHECK (transaction_id <> '5')
            """)
        let (_, verdicts) = try await worker.process((0..<9).map { Sample.purchase("\($0)") })
        #expect(verdicts.map { $0.heldBy != nil } == (0..<9).map { $0 == 5 })
        #expect(!verdicts.contains { $0.isRefused })
        let words = "constraint of_the_company"
        #expect(verdicts[5].heldBy.map { "\($0)".contains(words) } == true)
    }

    @Test func `a missing table is the operator's fault, not a record's`() async throws {
        let worker = try await LinkWorker()
        _ = try await worker.client.query("ALTER TABLE owners RENAME TO others")
        await #expect(throws: PostgresError.self) { try await worker.process([.purchase("1")]) }
    }
}
