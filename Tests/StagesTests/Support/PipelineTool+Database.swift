import Commands
import Operations
import TestSupport
import Testing

extension PipelineTool {
    /// The command that compares rows with what Apple signed, and with `--replace` also writes.
    static func comparing(_ options: [String]) -> [String] {
        (options.contains("--replace") ? ["rebuild"] : ["plan", "--facts"]) + options
    }

    /// Runs `pipeline` on a database.
    ///
    /// - Returns: its exit code, standard output and standard error.
    static func run(_ arguments: [String], on url: String) async -> (code: Int32, output: String, notes: String) {
        let transcript = ConsoleTranscript()
        let code = await tool.run(arguments, ["DATABASE_URL": url], on: transcript)
        PublishedSchema.expect("pipeline", arguments, transcript.output.utf8)
        return (code, transcript.output, transcript.notes)
    }
}
