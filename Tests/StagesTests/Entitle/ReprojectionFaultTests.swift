import Entitlements
import Postgres
import Telemetry
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// A single purchase that PostgreSQL rejects must not keep a new catalog from all others.
@Suite(.timeLimit(.minutes(10))) struct ReprojectionFaultTests {
    /// Nine purchases of nine users, and a catalog that gives them another key; PostgreSQL rejects
    /// the rows of one.
    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        for number in 0..<9 {
            let owner = Ownership(userID: "user-\(number)", rule: .accountToken)
            try await worker.own([Signed.key("\(number)"): owner])
        }
        _ = try await worker.process(try (0..<9).map { try Signed.transaction("\($0)", signed: 1) })
        _ = try await worker.client.query(
            """
            ALTER TABLE entitlements
            ADD CHECK (user_id <> 'user-4' OR entitlement_key <> 'new')
            """)
        try await worker.apply(
            catalog: Array(#"{"products":{"pro":{"type":"auto-renewable","entitlements":["new"]}}}"#.utf8))
        return worker
    }

    @Test func `a rejected purchase stops no other from being projected`() async throws {
        let worker = try await Self.worker()
        try await worker.stage.upkeep?.work()
        await worker.stage.upkeep?.close()
        let rows = try await worker.client.query("SELECT user_id, entitlement_key FROM entitlements ORDER BY 1")
        #expect(rows.map { $0.text(1) } == (0..<9).map { $0 == 4 ? "pro" : "new" })
        let state = try await worker.client.query("SELECT version::int8, target::int8 FROM catalog_projection")[0]
        #expect(state.int8(0) == 1)
        #expect(state.optionalInt8(1) == nil)
        let metrics = String(decoding: worker.registry.exposition(), as: UTF8.self)
        #expect(metrics.contains(#"entitlements_entitle_refused_items_total{work="catalog"} 1"#))
        let refused = worker.log.metadata(of: "purchase refused by the database, left as it was")
        #expect(refused.count == 1)
        #expect(refused.first?.contains("SQLSTATE 23514") == true)
    }
}
