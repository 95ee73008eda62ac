import Commands
import Foundation
import Kafka
import KitWrappers
import Operations
import Postgres
import TestSupport
import Testing
import Topology

/// The lines of `pipeline` with `--json` fit the published schema of each command; commands that
/// need rows of the stages are checked by the tests of `StagesTests`.
@Suite struct ToolJSONTests {
    /// Expects a line for each schema, of the real command.
    private func run(
        _ arguments: [String], _ environment: [String: String], code: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let transcript = ConsoleTranscript()
        let arguments = arguments + ["--json"]
        let found = await PipelineTool.tool.run(arguments, environment, on: transcript)
        #expect(found == code, "\(arguments): \(transcript.notes)", sourceLocation: sourceLocation)
        #expect(!transcript.output.isEmpty, "\(arguments)", sourceLocation: sourceLocation)
        PublishedSchema.expect("pipeline", arguments, transcript.output.utf8, sourceLocation: sourceLocation)
    }

    @Test func `commands on a database print what their schemas say`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let environment = ["DATABASE_URL": options.connectionString]
        await run(["migrate"], environment)
        await run(["migrate"], environment)
        let act = ["--reason=sorry", "--by=eva"]
        let until = ["--new", "--until=2099-12-31"] + act
        await run(["grant", "anna", "extra"] + until, environment)
        await run(["explain", "anna"], environment)
        await run(["explain", "anna", "--known-at=2098-01-01"], environment)
        await run(["revoke-grant", "1", "--reason=found", "--by=eva"], environment)
        await run(["whats-stored", "anna"], environment)
        await run(["forget", "anna"] + act, environment)
        await run(["link", "add", "original_transaction_id", "1", "anna"] + act, environment)
        await run(["link", "list"], environment)
        await run(["link", "list", "--history"], environment)
        await run(["link", "remove", "original_transaction_id", "1"] + act, environment)
        await run(["link", "reapply"], environment, code: 1)
        await run(["dedupe", "forget", "--all"], environment, code: 1)
        await run(["plan", "--facts"], environment)
    }

    @Test func `Apple's list and its answers fit their schemas`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                INSERT INTO recovery_windows (environment, bundle_id, job)
                VALUES ('Production', 'com.example.app', 'complete');
                INSERT INTO apple_notifications (uuid, environment, bundle_id, type,
                    signed_date_ms, listed_at)
                VALUES ('5f0c11ab-1111-4aaa-8aaa-111111111111', 'Production',
                    'com.example.app', 'SUBSCRIBED',
                    1000 * extract(epoch FROM now() - interval '2 days')::int8, now());
                """)
        let environment = ["DATABASE_URL": options.connectionString]
        await run(["reconcile", "--with-apple"], environment, code: 1)
        async let asking: Void = run(["recover", "apple", "--order=M1"], environment)
        try await eventually {
            let answered = try await connection.query(
                """
                UPDATE recovery_requests SET finished_at = now(), result = 'done'
                WHERE finished_at IS NULL RETURNING subject
                """)
            return answered.count == 1
        }
        await asking
        await connection.close()
    }

    @Test func `refund requests are listed, counted and decided`() async throws {
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                INSERT INTO refund_requests (uuid, environment, bundle_id, transaction_id, original_transaction_id,
                    signed_date_ms, deadline_ms)
                SELECT 'u', 'Production', 'com.example.app', '1', '1', now_ms, now_ms + 43200000
                FROM (SELECT (extract(epoch FROM now()) * 1000)::int8 AS now_ms) AS clock
                """)
        let environment = ["DATABASE_URL": options.connectionString]
        await run(["refunds", "list"], environment)
        await run(["refunds", "list", "--outcome=waiting"], environment)
        await run(["refunds", "show", "u"], environment)
        await run(["refunds", "count"], environment)
        let decision = ["refunds", "answer", "u", "--preference=decline", "--by=eva", "--reason=abuse"]
        await run(decision, environment)
        try await connection.execute(script: "UPDATE refund_requests SET answer = '{}'")
        await run(decision, environment, code: 1)
        let acts = try await connection.query("SELECT acted_by, preference FROM refund_acts")
        #expect(acts.map { $0.text(0) + $0.text(1) } == ["evadecline"])
        await connection.close()
    }

    @Test func `commands on Kafka print what their schemas say`() async throws {
        let cluster = try MockCluster()
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 2) }
        let options = try await PostgresServer.shared.migratedDatabase()
        let environment = ["KAFKA_BOOTSTRAP": cluster.bootstrapServers, "DATABASE_URL": options.connectionString]
        let body = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data("body\n".utf8).write(to: body)
        await run(["publish", body.path], environment)
        await run(["status"], environment)
        await run(["status", "--watch", "--count=2", "--interval=100ms"], environment)
        await run(["reconcile"], environment)
        await run(["recover", "feed"], environment)
        cluster.stop()
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka")) func `the report on topics fits its schema`()
        async throws
    {
        let cluster = try await KafkaCluster(.real)
        let environment = ["KAFKA_BOOTSTRAP": cluster.bootstrapServers]
        let prefix = ["--prefix", cluster.name("json") + "."]
        await run(["topics", "--partitions=2"] + prefix, environment)
        await run(["topics", "--partitions=3"] + prefix, environment)
    }
}
