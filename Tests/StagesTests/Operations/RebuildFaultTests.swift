import AppStore
import Entitlements
import Operations
import Postgres
import TestSupport
import Store
import Testing

@testable import EntitleStage

/// A fault of one purchase must not keep `pipeline rebuild` from the others.
@Suite(.timeLimit(.minutes(10))) struct RebuildFaultTests {
    private let options: PostgresOptions
    private let worker: EntitleWorker

    /// Nine purchases of nine users.
    init() async throws {
        options = try await StageDatabase.options()
        worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 8))
        for number in 0..<9 {
            let owner = Ownership(userID: "user-\(number)", rule: .accountToken)
            try await worker.own([Signed.key("\(number)"): owner])
        }
        _ = try await worker.process(try (0..<9).map { try Signed.transaction("\($0)", signed: 1) })
    }

    private func rebuild(_ options: String...) async -> (code: Int32, output: String) {
        let end = await PipelineTool.run(PipelineTool.comparing(options), on: self.options.connectionString)
        return (end.code, end.output)
    }

    @Test func `a rejected purchase is named, and the others are repaired`() async throws {
        _ = try await worker.client.query("DELETE FROM entitlements")
        _ = try await worker.client.query("ALTER TABLE entitlements ADD CHECK (user_id <> 'user-4')")
        let (code, output) = await rebuild("--replace")
        #expect(code == 1)
        #expect(output.contains("8 purchases compared"), "\(output)")
        #expect(output.contains("8 differences, replaced; 1 refused by the database"), "\(output)")
        #expect(output.contains("Production 4: not compared"), "\(output)")
        #expect(try await worker.count("entitlements") == 8)
    }

    @Test func `a transaction that the server has ended runs again`() async throws {
        let client = worker.client
        let holder = try await client.connect()
        _ = try await holder.query("BEGIN")
        _ = try await holder.run(Locks.projection, [Signed.key("4").scope])
        async let rebuilt = rebuild()
        try await eventually {
            try await client.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'pipeline'
                  AND wait_event_type = 'Lock'
                """
            ).first?.bool(0) ?? false
        }
        await holder.close()
        let (code, output) = await rebuilt
        #expect(code == 0, "\(output)")
        #expect(output.contains("9 purchases compared"), "\(output)")
    }
}
