import AppStore
import Entitlements
import Postgres
import Records
import TestSupport
import Testing
import Simulation
import Topology
import Worker

/// App transactions: a person's download of an app is recorded and grants nothing.
@Suite(.timeLimit(.minutes(10))) struct AppDownloadTests {
    static func download(
        _ id: String? = "704", signed: Int64 = 1_000, _ change: (inout AppTransactionFields) -> Void = { _ in }
    ) throws -> Observation {
        var fields = AppTransactionFields()
        fields.appTransactionID = id
        fields.receiptCreationDate = signed
        change(&fields)
        return try Sample(appTransaction: fields).observation()
    }

    static func rows(_ worker: EntitleWorker) async throws -> [String] {
        try await worker.client.query(
            """
            SELECT concat_ws(' ', app_transaction_id, environment, bundle_id, signed_date_ms,
                trust, original_application_version, original_purchase_date_ms,
                original_platform, coalesce(preorder_date_ms::text, 'none'), application_version)
            FROM app_downloads ORDER BY app_transaction_id
            """
        ).map { $0.text(0) }
    }

    @Test func `an app transaction is recorded as a download, and grants nothing`() async throws {
        let worker = try await EntitleWorker()
        let observations = [
            try Self.download { $0.preorderDate = 900 },
            try Self.download("705") { $0.originalApplicationVersion = "2.0" },
        ]
        #expect(try await worker.dispositions(observations) == [.recorded, .recorded])
        #expect(
            try await Self.rows(worker) == [
                "704 Production com.example.pro 1000 apple 1.0 1735689600000 iOS 900 3.1",
                "705 Production com.example.pro 1000 apple 2.0 1735689600000 iOS none 3.1",
            ])
        #expect(try await worker.rows().isEmpty)
        #expect(try await worker.count("transactions") == 0)
        #expect(try await worker.count("revisions") == 2)
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]], [true, false]) func `the newest statement counts, in any order`(
        order: [Int], inOneBatch: Bool
    ) async throws {
        let worker = try await EntitleWorker()
        let statements = [
            try Self.download(signed: 1_000) { $0.applicationVersion = "1.0" },
            try Self.download(signed: 3_000) { $0.applicationVersion = "3.0" },
            try Self.download(signed: 2_000) { $0.applicationVersion = "2.0" },
        ]
        let observations = order.map { statements[$0] }
        if inOneBatch {
            _ = try await worker.process(observations)
        } else {
            for observation in observations { _ = try await worker.process([observation]) }
        }
        _ = try await worker.process(observations)
        #expect(
            try await Self.rows(worker) == ["704 Production com.example.pro 3000 apple 1.0 1735689600000 iOS none 3.0"])
    }

    @Test func `one without an ID names no account and is in the history alone`() async throws {
        let worker = try await EntitleWorker()
        #expect(try await worker.dispositions([Self.download(nil)]) == [.recorded])
        #expect(try await Self.rows(worker).isEmpty)
        #expect(try await worker.count("revisions") == 1)
    }

    @Test func `another environment or app is another download`() async throws {
        let worker = try await EntitleWorker()
        let sandbox = try Self.download().with { $0.environment = .sandbox }
        let other = try Self.download().with { $0.bundleID = "com.example.other" }
        _ = try await worker.process([try Self.download(), sandbox, other])
        #expect(try await Self.rows(worker).count == 3)
    }
}
