import Postgres
import Records
import TestSupport
import Testing
import Topology
import Worker

/// Rows that a batch takes for new and that are stored are no fault of its records.
@Suite(.timeLimit(.minutes(10))) struct StoredHistoryTests {
    @Test func `a purchase of which only the history is stored is applied`() async throws {
        let path = try await LinkedPath()
        try await path.write("original_transaction_id", [("1", "anna")])
        let purchase = Sample.purchase("1", until: 9_000_000_000_000)
        try await path.post([purchase])
        try await path.project()
        for table in ["transactions", "entitlements"] { _ = try await path.client.query("DELETE FROM \(table)") }
        try await path.post([purchase])
        #expect(try await path.project().map(\.disposition) == [.applied])
        #expect(try await path.held() == ["1 anna"])
        #expect(try await path.client.query("SELECT FROM revisions").count == 1)
    }
}
