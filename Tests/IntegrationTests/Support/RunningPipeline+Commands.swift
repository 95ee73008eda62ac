import Commands
import Operations
import Postgres
import Records
import Store
import TestSupport
import Testing

extension RunningPipeline {
    /// Runs `pipeline` on this cluster and database.
    func operate(_ arguments: [String]) async -> (code: Int32, output: String, notes: String) {
        let transcript = ConsoleTranscript()
        let code = await PipelineTool.tool.run(
            arguments,
            [
                "DATABASE_URL": database.connectionString, "KAFKA_BOOTSTRAP": cluster.bootstrapServers,
                "KAFKA_TOPIC_PREFIX": layout.prefix, "KAFKA_GROUP_PREFIX": layout.prefix,
                "SCHEMAS_DIR": PostgresServer.migrations.path + "/..",
            ], on: transcript)
        PublishedSchema.expect("pipeline", arguments, transcript.output.utf8)
        return (code, transcript.output, transcript.notes)
    }

    /// Runs `pipeline` on this cluster and database.
    func operate(_ arguments: String...) async -> (code: Int32, output: String, notes: String) {
        await operate(arguments)
    }

    /// Runs the runbook's `kafka-consumer-groups.sh --reset-offsets` for the groups of stages.
    ///
    /// The tool ends with 0 also where Kafka refuses it, and then prints no row of the group.
    func resetOffsets(of stages: [StageDescription], _ target: String) async throws {
        let groups = stages.map { layout.prefix + $0.name }
        let output = try await RealKafka.run(
            [
                "tool", "--dir", folder, "consumer-groups", "--bootstrap-server", cluster.bootstrapServers,
                "--all-topics", "--reset-offsets", target, "--execute",
            ] + groups.flatMap { ["--group", $0] })
        for group in groups { #expect(output.contains("\n\(group) "), "\(output)") }
    }
}
