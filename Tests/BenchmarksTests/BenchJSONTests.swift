import Benchmarks
import Settings
import TestSupport
import Testing

/// The lines of `bench` with `--json` fit the published schemas.
@Suite(.timeLimit(.minutes(5))) struct BenchJSONTests {
    @Test func `a short measurement fits its schema`() async {
        let transcript = ConsoleTranscript()
        let arguments = ["dead-letters", "--records=1000", "--groups=10", "--json"]
        let context = CommandContext(console: transcript.console(), environment: [:])
        let code = await BenchCommand.tool.run(arguments, in: context)
        // 1 where a cost is beyond its bound, as in a debug build.
        #expect([0, 1].contains(code), "\(transcript.notes)")
        #expect(!transcript.output.isEmpty)
        PublishedSchema.expect("bench", arguments, transcript.output.utf8)
    }
}
