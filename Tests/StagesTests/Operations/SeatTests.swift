import AppStore
import EntitleStage
import Entitlements
import JSON
import Kafka
import Operations
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Worker

/// Seats of a period, and how a purchase is owned, from the row to those who read it.
@Suite(.timeLimit(.minutes(10))) struct SeatTests {
    private static let token = "aaaaaaaa-0000-4000-8000-000000000001"

    private let worker: EntitleWorker
    private let url: String

    init() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 8))
        url = options.connectionString
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
    }

    private static func seats(_ id: String, _ seats: Int, signed: Int64, purchased: Int64 = 10, revoked: Int64? = nil)
        throws -> Observation
    {
        try Signed.transaction(
            id, signed: signed, original: "1", purchased: purchased, revoked: revoked, quantity: seats,
            members: """
                ,"inAppOwnershipType":"PURCHASED","additionalTransactionReason":"SEAT_ADDITION",
                "multiSeatInfo":{}
                """)
    }

    @Test func `added and refunded seats are changes even if no period differs`() async throws {
        _ = try await worker.process([try Self.seats("1", 10, signed: 1)])
        _ = try await worker.process([try Self.seats("1-2", 3, signed: 20, purchased: 20)])
        _ = try await worker.process([try Self.seats("1-2", 3, signed: 30, purchased: 20, revoked: 30)])
        let published = try await worker.published()
        let changes = published.changes.map(\.value)
        #expect(changes.map { $0["seats"]?.int64 } == [10, 13, 10])
        #expect(changes.allSatisfy { $0["ownershipType"]?.string == "PURCHASED" })
        #expect(changes.allSatisfy { $0["additionalTransactionReason"]?.string == "SEAT_ADDITION" })
        let (old, new) = (changes[1]["old"]?.rawBytes, changes[1]["new"]?.rawBytes)
        #expect(old.map { Array($0) } == new.map { Array($0) })
        for topic in ["entitlements.changed", "entitlements.current"] {
            let values = published.records.filter { $0.topic == "storekit.\(topic)" }.compactMap(\.value)
            let verdict = try PublishedSchema.topics.validate(values, against: topic)
            #expect(verdict.isValid, "\(verdict.report)")
        }
        let state = try #require(published.records.last { $0.topic == "storekit.entitlements.current" }?.value)
        let held = try JSONDocument(parsing: state).root["entitlements"]?.elements.map(\.self)
        #expect(held?.first?["seats"]?.int64 == 10)
        #expect(held?.first?["ownershipType"]?.string == "PURCHASED")
        #expect(try await worker.rowsByHistory() == (try await worker.rows()))
    }

    @Test func `seats are explained`() async throws {
        _ = try await worker.process([
            try Self.seats("1", 10, signed: 1), try Self.seats("1-2", 3, signed: 20, purchased: 20),
        ])
        let json = await PipelineTool.run(["explain", "anna", "--json"], on: url).output
        let root = try JSONDocument(parsing: Array(json.utf8.dropLast())).root
        let purchase = try #require(root["purchases"]?.elements.first { _ in true })
        let held = try #require(purchase["entitlements"]?.elements.first { _ in true })
        #expect(held["seats"]?.int64 == 13)
        #expect(held["ownership_type"]?.string == "PURCHASED")
        #expect(held["additional_transaction_reason"]?.string == "SEAT_ADDITION")
        #expect(held["status"]?.isNull == true)
        let transactions = purchase["transactions"]?.elements.map(\.self)
        #expect(transactions?.compactMap { $0["quantity"]?.int64 } == [10, 3])
        #expect(transactions?.compactMap { $0["revoked_seat_quantity"]?.int64 } == [0, 0])
    }

    @Test(arguments: [
        ("seats = 99", "99 seats"), ("ownership_type = 'ASSIGNED'", "ASSIGNED"),
        ("additional_transaction_reason = NULL", "10 seats, should be"),
    ]) func `a wrong number, owner or reason is a difference that a rebuild replaces`(change: String, said: String)
        async throws
    {
        _ = try await worker.process([try Self.seats("1", 10, signed: 1)])
        let rows = try await worker.rows()
        #expect(await PipelineTool.run(["plan", "--facts"], on: url).code == 0)
        _ = try await worker.client.query("UPDATE entitlements SET \(change)")
        let found = await PipelineTool.run(["plan", "--facts"], on: url)
        #expect(found.code == 1)
        #expect(found.output.contains(said), "\(found.output)")
        _ = await PipelineTool.run(["rebuild", "--replace"], on: url)
        #expect(try await worker.rows() == rows)
    }

    @Test(arguments: [
        ("ASSIGNED", "pro", 1), ("ASSIGNED", "plus", 0), ("FAMILY_SHARED", "pro", 0), ("PURCHASED", "pro", 0),
    ]) func `a seat that carries its purchaser's token is counted`(type: String, product: String, count: Int)
        async throws
    {
        func bought(_ id: String, _ product: String, _ type: String) throws -> Observation {
            try Signed.transaction(
                id, signed: 1, product: product, token: Self.token, members: #","inAppOwnershipType":"\#(type)""#)
        }
        // As link-worker has written it before.
        for id in ["1", "9"] {
            _ = try await worker.client.query(
                """
                INSERT INTO ownership_facts (environment, bundle_id, original_transaction_id,
                    transaction_id, track, signed_date_ms, content_hash, trust, purchase_date_ms,
                    account_token)
                VALUES ('Production', $1, $2, $2, 'jws', 1, sha256('x'), 'apple', 10, $3)
                """, [.text(Signed.bundleID.text), .text(id), .text(Self.token)])
        }
        _ = try await worker.process([try bought("1", "pro", "PURCHASED")])
        let metric = "entitle_seats_with_purchasers_token_total"
        var text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(text.contains("\(metric) 0\n"))
        _ = try await worker.process([try bought("9", product, type)])
        text = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(text.contains("\(metric) \(count)\n"))
    }
}
