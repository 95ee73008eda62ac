import AppStore
import Entitlements
import Postgres
import Records
import TestSupport
import Testing
import Topology
import Worker

/// Long subscriptions with closed old transactions: no row may ever differ.
struct EntitleStageClosedPeriodsTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)
    private static let step: Int64 = 1000

    @Test(arguments: 0..<12) func `the rows of a long subscription equal the fold's, in any order of arrival`(seed: Int)
        async throws
    {
        let worker = try await EntitleWorker()
        var world = World()
        try await worker.own([Signed.key("1"): world.ownership])
        var closedCount: Int64 = 0
        var rest = try Self.history()[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Int.random(in: 1...5)))
            rest = rest.dropFirst(batch.count)
            for observation in batch { world.facts.add(observation) }
            _ = try await worker.process(batch)
            closedCount += try await worker.count("closed_periods")
            if Int.random(in: 0..<8) == 0 { _ = try await worker.client.query("DELETE FROM closed_periods") }
            if Int.random(in: 0..<6) == 0 { try await world.change(worker) }
            #expect(try await worker.rows() == world.rows)
        }
        #expect(try await worker.rowsByHistory() == world.rows)
        #expect(closedCount > 0)
    }

    @Test func `a contradiction of a closed transaction is a conflict`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        _ = try await worker.process(try (0..<30).map { try Self.renewal($0, signed: 1) })
        #expect(try await worker.count("closed_periods") > 0)
        let before = try await worker.rows()
        let contradicting = try Signed.transaction(
            "1-2", signed: 9, original: "1", purchased: 29 * Self.step, expires: 40 * Self.step)
        let next = try Self.renewal(30, signed: 1)
        let verdicts = try await worker.process([contradicting, next])
        #expect(verdicts.map(\.disposition) == [.deadLettered, .applied])
        #expect(verdicts[0].refusal?.reason == .transactionConflict)
        #expect(verdicts[0].refusal?.detail.contains("purchaseDate") == true)
        #expect(try await worker.rows() != before)
        #expect(try await worker.count("transactions") == 31)
    }

    @Test func `a renewal of a long subscription reads a few rows`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        for number in 0..<40 { _ = try await worker.process([try Self.renewal(number, signed: 1)]) }
        let open = try await worker.client.query(
            """
            SELECT count(*) FROM transactions
            WHERE purchase_date_ms >= (SELECT max(closed_before_ms) FROM closed_periods)
            """)[0].int8(0)
        #expect((1...9).contains(open))
    }

    @Test func `a refund that names a copy of a closed period ends it`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        for number in 0..<30 { _ = try await worker.process([try Self.renewal(number, signed: 1)]) }
        #expect(try await worker.count("closed_periods") > 0)
        let copy = try Signed.transaction(
            "1-4-copy", signed: 9, original: "1", purchased: 4 * Self.step + 300, expires: 5 * Self.step,
            revoked: 4 * Self.step + 500, members: #","webOrderLineItemId":"5""#)
        _ = try await worker.process([copy])
        let rows = try await worker.rows()[Signed.key("1")] ?? []
        let held = rows.first { $0.key == "pro" }?.periods
        #expect(held?.contains(Timestamp(milliseconds: 4 * Self.step + 499)) == true)
        #expect(held?.contains(Timestamp(milliseconds: 4 * Self.step + 500)) == false)
        #expect(try await worker.rowsByHistory() == worker.rows())
    }

    /// Renewals mostly in order, late ones, refunds and reversals of old ones, graces, copies under
    /// other IDs and added seats.
    private static func history() throws -> [Observation] {
        var history: [Observation] = []
        for number in 0..<40 {
            history.append(try renewal(number, signed: 1))
            let old = Int.random(in: 0...number)
            switch Int.random(in: 0..<12) {
            case 8: history.append(try copy(of: old, signed: Int64.random(in: 1...9)))
            case 9: history.append(try seats(addedTo: number, signed: Int64.random(in: 1...9)))
            case 10: history.append(try seats(addedTo: old, signed: Int64.random(in: 1...9)))
            case 0: history.append(try renewal(old, signed: 5, revoked: Int64(old) * step + 300))
            case 1: history.append(try renewal(old, signed: 9))
            case 2:
                let ended = Int64(old + 1) * step - 100
                history.append(
                    try Signed.renewal(
                        "1", signed: Int64(number), graceExpires: ended + Int64.random(in: 1...400), renewed: ended))
            case 3 where number > 30:
                // Facts that closed periods cannot hold: another track, another trust, another app.
                var foreign = try renewal(old, signed: Int64.random(in: 1...9))
                switch Int.random(in: 0..<6) {
                case 0: foreign = try foreign.with { $0.verification.method = .receipt }
                case 1: foreign = try foreign.with { $0.verification.trust = .configured(Sample.certificate) }
                case 2: foreign = try foreign.with { $0.bundleID = "com.example.other" }
                default: break
                }
                history.append(foreign)
            default: break
            }
        }
        let late = history.remove(at: 3)
        history.insert(late, at: history.count - 5)
        return history
    }

    private static func renewal(_ number: Int, signed: Int64, revoked: Int64? = nil) throws -> Observation {
        let purchased = Int64(number) * step
        return try Signed.transaction(
            number == 0 ? "1" : "1-\(number)", signed: signed, original: "1",
            product: number % 7 == 3 ? "basic" : "pro", purchased: purchased,
            expires: purchased + (number % 5 == 2 ? step - 100 : step), revoked: revoked,
            members: #","webOrderLineItemId":"\#(number + 1)""#)
    }

    /// The period of a renewal under another ID, by its line item or its dates.
    private static func copy(of number: Int, signed: Int64) throws -> Observation {
        let purchased = Int64(number) * step
        let isDated = Bool.random()
        return try Signed.transaction(
            "1-\(number)-\(isDated ? "dated" : "listed")", signed: signed, original: "1",
            product: number % 7 == 3 ? "basic" : "pro", purchased: isDated ? purchased : purchased + 300,
            expires: purchased + (number % 5 == 2 ? step - 100 : step), revoked: Bool.random() ? purchased + 500 : nil,
            members: isDated ? "" : #","webOrderLineItemId":"\#(number + 1)""#)
    }

    private static func seats(addedTo number: Int, signed: Int64) throws -> Observation {
        let purchased = Int64(number) * step
        return try Signed.transaction(
            "1-\(number)-seats", signed: signed, original: "1", product: number % 7 == 3 ? "basic" : "pro",
            purchased: purchased + 400, expires: purchased + (number % 5 == 2 ? step - 100 : step),
            revoked: Bool.random() ? purchased + 600 : nil, members: #","additionalTransactionReason":"SEAT_ADDITION""#)
    }
}

extension EntitleStageClosedPeriodsTests {
    /// Everything that the rows follow from: the facts, the owners, and the catalog.
    private struct World {
        var facts = FactSet()
        var ownership = EntitleStageClosedPeriodsTests.anna
        private var catalog = Catalog()

        private static let ownerships = [
            EntitleStageClosedPeriodsTests.anna, Ownership(spans: [], rule: .unlinked),
            Ownership(
                spans: [
                    OwnershipSpan(userID: "anna"), OwnershipSpan(userID: "ben", from: Timestamp(milliseconds: 9500)),
                    OwnershipSpan(userID: "anna", from: Timestamp(milliseconds: 21_200)),
                ], rule: .accountToken),
        ]
        private static let catalogs = [
            #"{"products":{}}"#, #"{"products":{"pro":{"type":"auto-renewable","entitlements":["a","b"]}}}"#,
            """
            {"products":{"pro":{"type":"auto-renewable","entitlements":["b"]},
            "basic":{"type":"auto-renewable","entitlements":["b"]}}}
            """,
        ]

        /// Gives the purchase other owners, or its products other keys.
        mutating func change(_ worker: EntitleWorker) async throws {
            if Bool.random() {
                ownership = Self.ownerships.randomElement() ?? ownership
                try await worker.own([Signed.key("1"): ownership])
            } else {
                let json = Array((Self.catalogs.randomElement() ?? "").utf8)
                catalog = try Catalog(json: json)
                try await worker.apply(catalog: json)
            }
            _ = try await worker.process([Observation.relinking(Signed.key("1"))])
        }

        var rows: [PurchaseKey: Set<EntitlementRow>] {
            let key = Signed.key("1")
            let purchase = EntitlementFold(facts, catalog: catalog).purchases[key]
            let projected = purchase.map { Projection(catalog: catalog).project($0, of: key, ownership: ownership) }
            let rows = Set(projected?.rows ?? [])
            return rows.isEmpty ? [:] : [key: rows]
        }
    }
}
