import Foundation
import Postgres
import Settings
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DatabaseCheckTests {
    private func check(_ options: PostgresOptions) async -> CommandOutcome {
        await DatabaseCheck.findings(options, role: .linkWorker).outcome(of: "link-worker")
    }

    @Test func `a role with its rights finds nothing wrong, one without them each table`() async throws {
        var options = try await PostgresServer.shared.migratedDatabase()
        let prefix = "c\(UUID().uuidString.prefix(8).lowercased())-"
        let owner = try await PostgresConnection.connect(options)
        try await DatabaseRole.grant([.linkWorker, .dedupeWorker], schema: "public", prefix: prefix, on: owner)
        await owner.close()
        options.sessionSettings["role"] = "\(prefix)link-worker"
        let complete = await check(options)
        #expect(complete.exitCode == 0, "\(complete.output)")
        #expect(complete.output.contains("ok     schema: version"))
        options.sessionSettings["role"] = "\(prefix)dedupe-worker"
        let incomplete = await check(options)
        #expect(incomplete.exitCode == 78)
        #expect(
            incomplete.output.contains("WRONG  rights: no DELETE, INSERT, UPDATE on owners; "), "\(incomplete.output)")
        #expect(incomplete.output.contains("on account_links; "))
        #expect(incomplete.output.contains("see 'pipeline grants'"))
    }

    @Test func `a database that was never migrated ends with 78`() async throws {
        let outcome = await check(try await PostgresServer.shared.emptyDatabase())
        #expect(outcome.exitCode == 78)
        #expect(outcome.output.contains("WRONG  schema: version 0, expected"))
        #expect(outcome.output.contains("run 'pipeline migrate'"))
    }

    @Test func `a server that does not answer ends with 69`() async {
        let options = PostgresOptions(connectionString: "postgresql://nobody@127.0.0.1:1/none", applicationName: "test")
        let outcome = await check(options)
        #expect(outcome.exitCode == 69)
        #expect(outcome.output.contains("DATABASE_URL"))
    }
}
