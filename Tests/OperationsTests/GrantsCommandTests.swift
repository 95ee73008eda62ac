import Operations
import Postgres
import Settings
import TestSupport
import Testing

@Suite(.needsRealKafka) struct GrantsCommandTests {
    private let transcript = ConsoleTranscript()

    @Test func `brokers without an authorizer get no rules, and PostgreSQL has its own`()
        async throws
    {
        let bootstrap = try await RealKafka.bootstrapServers()
        let database = try await PostgresServer.shared.migratedDatabase()
        let context = CommandContext(
            console: transcript.console(),
            environment: ["KAFKA_BOOTSTRAP": bootstrap, "DATABASE_URL": database.connectionString]
        )
        let arguments = ["grants", "--apply", "--name-prefix=open-"]
        #expect(await PipelineTool.tool.run(arguments, in: context) == 0, "\(transcript.notes)")
        #expect(transcript.output.contains("roles have their rights"))
        #expect(transcript.output.contains("Kafka: left out, as the brokers have no authorizer"))
        #expect(transcript.notes.contains("ALTER ROLE \"open-pipeline-operator\" PASSWORD"))
        let only = arguments + ["--only=kafka"]
        #expect(await PipelineTool.tool.run(only, in: context) == 69)
        #expect(transcript.notes.contains("SECURITY_DISABLED"))
    }
}
