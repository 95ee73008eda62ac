import Operations
import Postgres
import Settings
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
                "DATABASE_URL": database.connectionString,
                "KAFKA_BOOTSTRAP": cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": layout.prefix,
                "KAFKA_GROUP_PREFIX": layout.prefix,
                "SCHEMAS_DIR": PostgresServer.migrations.path + "/..",
            ],
            on: transcript
        )
        PublishedSchema.expect("pipeline", arguments, transcript.output.utf8)
        return (code, transcript.output, transcript.notes)
    }

    /// Runs `pipeline` on this cluster and database.
    func operate(_ arguments: String...) async -> (code: Int32, output: String, notes: String) {
        await operate(arguments)
    }
}
