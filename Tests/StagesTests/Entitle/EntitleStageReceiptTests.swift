import AppStore
import Derivation
import EntitleStage
import Entitlements
import Postgres
import Records
import Store
import TestSupport
import Testing
import Topology
import Worker

/// Receipts that bring a revocation, late and silent ones, in all orders.
struct EntitleStageReceiptTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    /// The date of the JWS, and the end of the period that follows.
    @Test(arguments: [(signed: Int64(1), end: Int64(500)), (signed: 4, end: 1000)])
    func `a receipt's revocation counts until a newer JWS lifts it, in any order`(jws: (signed: Int64, end: Int64))
        async throws
    {
        for batchSize in [1, 2, 4] {
            let worker = try await EntitleWorker()
            let orders = Self.permutations(of: [0, 1, 2, 3])
            let ids = orders.indices.map { "\($0 + 1)" }
            for id in ids { try await worker.own([Signed.key(id): Self.anna]) }
            for step in stride(from: 0, to: 4, by: batchSize) {
                var batch: [Observation] = []
                for (id, order) in zip(ids, orders) {
                    for place in order[step..<step + batchSize] {
                        batch.append(try Self.observation(place, of: id, jws: jws.signed))
                    }
                }
                _ = try await worker.process(batch)
            }
            let rows = try await worker.rows()
            for id in ids {
                let periods = rows[Signed.key(id)]?.flatMap(\.periods.periods)
                #expect(periods?.map(\.end?.milliseconds) == [jws.end], "\(id)")
            }
            #expect(try await Self.receipts(worker) == ["5 500 3"])
            let rebuilt = try await worker.client.transaction {
                try await Reprojector().replace(ids.map { Signed.key($0) }, on: $0)
            }
            #expect(rebuilt.isEmpty)
        }
    }

    @Test func `a late older receipt is applied if it revokes something`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        let late = try Self.receipt("1", signed: 3, revoked: 500)
        let silent = try Self.receipt("1", signed: 5)
        #expect(try await worker.dispositions([silent]) == [.applied])
        #expect(try await worker.dispositions([late]) == [.applied])
        #expect(try await worker.dispositions([late]) == [.unchanged])
        #expect(try await worker.count("revisions") == 2)
    }

    @Test func `a late older receipt revokes a closed transaction`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Self.anna])
        let renewals = try (1...30).map { number in
            try Signed.transaction(
                "1-\(number)", signed: 1, original: "1", purchased: Int64(number) * 1000,
                expires: Int64(number + 1) * 1000, members: #","transactionReason":"RENEWAL""#)
        }
        _ = try await worker.process(renewals)
        #expect(try await worker.count("closed_periods") > 0)
        for (signed, revoked) in [(5, nil), (3, 4500)] as [(Int64, Int64?)] {
            let receipt = try Signed.transaction(
                "1-4", signed: signed, original: "1", purchased: 4000, expires: 5000, revoked: revoked
            ).with { $0.verification.method = .receipt }
            _ = try await worker.process([receipt])
        }
        let periods = try await worker.rows()[Signed.key("1")]?.flatMap(\.periods.periods)
        #expect(periods?.map(\.start.milliseconds) == [1000, 5000])
        #expect(periods?.map(\.end?.milliseconds) == [4500, 31_000])
    }

    private static func observation(_ place: Int, of id: String, jws signed: Int64) throws -> Observation {
        switch place {
        case 0: try Signed.transaction(id, signed: signed)
        case 1: try receipt(id, signed: 2, revoked: 300)
        case 2: try receipt(id, signed: 3, revoked: 500)
        default: try receipt(id, signed: 5)
        }
    }

    private static func receipt(_ id: String, signed: Int64, revoked: Int64? = nil) throws -> Observation {
        try Signed.transaction(id, signed: signed, revoked: revoked).with { $0.verification.method = .receipt }
    }

    /// The stored receipt columns: newest date, revocation, and the date of the receipt that
    /// brought it.
    private static func receipts(_ worker: EntitleWorker) async throws -> Set<String> {
        let rows = try await worker.client.query(
            """
            SELECT DISTINCT concat_ws(' ', signed_date_ms, revocation_date_ms,
                revoked_signed_date_ms)
            FROM transactions WHERE track = 'receipt'
            """)
        return Set(rows.map { $0.text(0) })
    }

    private static func permutations(of places: [Int]) -> [[Int]] {
        guard places.count > 1 else { return [places] }
        return places.flatMap { place in permutations(of: places.filter { $0 != place }).map { [place] + $0 } }
    }
}
