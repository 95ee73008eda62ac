import AppStore
import Commands
import DeadLetters
import Foundation
import JSON
import Records
import Settings
import TestSupport
import Testing

extension RunningPipeline {
    /// Expects that `dead-letter verify` finds nothing missing, altered, inserted or out of order.
    ///
    /// - Returns: the number of letters read.
    @discardableResult func expectChainsIntact(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Int {
        let (isIntact, report, text) = try await verifyChains()
        #expect(isIntact, "\(text)", sourceLocation: sourceLocation)
        let letters = report["chains"]?.elements.reduce(0) { sum, chain in sum + Int(chain["letters"]?.int64 ?? 0) }
        return try #require(letters)
    }
    /// The kinds of all that `dead-letter verify` finds.
    func findingsOfChains() async throws -> [String] {
        let findings = try await verifyChains().report["findings"]
        return findings?.elements.compactMap { $0["kind"]?.string } ?? []
    }

    private func verifyChains() async throws -> (isIntact: Bool, report: JSONValue, text: String) {
        let transcript = ConsoleTranscript()
        let environment = [
            "KAFKA_BOOTSTRAP": cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": settings[KafkaSettings.topicPrefix],
            "KAFKA_GROUP_PREFIX": settings[KafkaSettings.groupPrefix],
        ]
        let code = await DeadLetterTool.tool().run(
            ["verify", "--json"], in: CommandContext(console: transcript.console(), environment: environment))
        let report = try JSONDocument(parsing: Array(transcript.output.utf8)).root
        return (code == 0, report, "\(transcript.output)\(transcript.notes)")
    }
}
