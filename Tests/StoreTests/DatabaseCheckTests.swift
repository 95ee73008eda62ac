import Foundation
import Postgres
import Settings
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DatabaseCheckTests {
    private let transcript = ConsoleTranscript()

    private func check(_ options: PostgresOptions) async -> Int32 {
        await DatabaseCheck.findings(options, role: .linkWorker).report(of: "link-worker", on: transcript.console())
    }

    @Test func `a role with its rights finds nothing wrong, one without them each table`() async throws {
        var options = try await PostgresServer.shared.migratedDatabase()
        let prefix = "c\(UUID().uuidString.prefix(8).lowercased())-"
        let owner = try await PostgresConnection.connect(options)
        try await DatabaseRole.grant([.linkWorker, .dedupeWorker], schema: "public", prefix: prefix, on: owner)
        await owner.close()
        options.sessionSettings["role"] = "\(prefix)link-worker"
        #expect(await check(options) == 0, "\(transcript.output)")
        #expect(transcript.output.contains("ok     schema: version"))
        options.sessionSettings["role"] = "\(prefix)dedupe-worker"
        #expect(await check(options) == 78)
        #expect(
            transcript.output.contains("WRONG  rights: no DELETE, INSERT, UPDATE on owners; "), "\(transcript.output)")
        #expect(transcript.output.contains("on account_links; "))
        #expect(transcript.output.contains("see 'pipeline grants'"))
    }

    @Test func `a database that was never migrated ends with 78`() async throws {
        #expect(await check(try await PostgresServer.shared.emptyDatabase()) == 78)
        #expect(transcript.output.contains("WRONG  schema: version 0, expected"))
        #expect(transcript.output.contains("run 'pipeline migrate'"))
    }

    @Test func `a server that does not answer ends with 69`() async {
        let options = PostgresOptions(connectionString: "postgresql://nobody@127.0.0.1:1/none", applicationName: "test")
        #expect(await check(options) == 69)
        #expect(transcript.output.contains("DATABASE_URL"))
    }
}
