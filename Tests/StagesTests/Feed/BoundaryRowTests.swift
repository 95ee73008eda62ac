import AppStore
import Entitlements
import Postgres
import Records
import Store
import TestSupport
import Testing
import Topology
import Worker

@testable import EntitleStage

/// The next boundary in the rows of `entitlements`.
@Suite(.timeLimit(.minutes(10))) struct BoundaryRowTests {
    @Test func `a record that moves no period looks for no boundary, and its row keeps the one it has`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        let end = try await worker.now() + 600_000
        _ = try await worker.process([try Signed.transaction("1", signed: 1, expires: end)])
        let boundary = "SELECT next_boundary::text FROM entitlements"
        let before = try await worker.client.query(boundary).map { $0.optionalText(0) }
        _ = try await worker.client.query(
            """
            CREATE OR REPLACE FUNCTION find_next_boundary_with_grace() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'a boundary is looked for'; END $$
            """)
        #expect(try await worker.dispositions([try Signed.renewal("1", signed: 2, status: 0)]) == [.applied])
        #expect(try await worker.client.query("SELECT will_renew FROM entitlements")[0].bool(0) == false)
        #expect(try await worker.client.query(boundary).map { $0.optionalText(0) } == before)
    }

    @Test func `a row that an upsert inserts gets its next boundary and is announced at its end`() async throws {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): Ownership(userID: "anna", rule: .accountToken)])
        let end = try await worker.now() + 1_000
        _ = try await worker.process([try Signed.transaction("1", signed: 1, expires: end)])
        let rows = try await worker.rows().flatMap { purchase, rows in rows.map { (purchase: purchase, row: $0) } }
        try await worker.client.transaction { connection in
            _ = try await connection.run(EntitlementTable.remove, rows)
            _ = try await connection.run(EntitlementTable.write.upsert, rows)
        }
        try await eventually {
            try await worker.stage.outboxes[0].empty { _ in }
            return try await worker.client.query("SELECT FROM entitlements WHERE next_boundary IS NOT NULL").isEmpty
        }
        let events = try await worker.client.query(
            "SELECT event, cause_id = instant_text(upper(new_periods)) " + "FROM changes WHERE cause = 'time'")
        #expect(events.map { $0.text(0) } == ["period_ended"])
        #expect(events.first?.bool(1) == true)
    }
}
