import Commands
import Foundation
import Operations
import Records
import TestSupport
import Testing
import Topology

/// The rights in Kafka, as `pipeline grants` prints them.
@Suite struct AccessPlanTests {
    private let transcript = ConsoleTranscript()

    /// The principals with a right to this operation on each topic, by the printed commands.
    private func holders(of operation: String, _ action: String) async -> [String: Set<String>] {
        let context = CommandContext(
            console: transcript.console(),
            environment: ["KAFKA_BOOTSTRAP": "localhost:9092", "DATABASE_URL": "postgresql://localhost/none"])
        #expect(await PipelineTool.tool.run(["grants"], in: context) == 0)
        var holders: [String: Set<String>] = [:]
        for line in transcript.output.split(separator: "\n") where line.contains(action) {
            let words = line.split(separator: " ").map { String($0).replacing("'", with: "") }
            func values(_ name: String) -> [String] { zip(words, words.dropFirst()).filter { $0.0 == name }.map(\.1) }
            guard values("--operation").contains(operation) else { continue }
            for topic in values("--topic") { holders[topic, default: []].formUnion(values("--allow-principal")) }
        }
        return holders
    }

    @Test func `only the stage before writes a topic that is believed unverified`() async throws {
        let writers = await holders(of: "Write", "--add")
        for (stage, before) in zip(Topology.stages.dropFirst(), Topology.stages) {
            #expect(stage.readsObservations)
            #expect(writers["storekit.\(stage.inputTopic)"] == ["User:\(before.program)"])
        }
        #expect(
            writers["storekit.raw"] == [
                "User:ingestion", "User:recovery-worker", "User:dead-letter-replay", "User:pipeline-operator",
            ])
    }

    @Test func `the rights of earlier versions to write such topics are taken back`() async throws {
        let former = await holders(of: "Write", "--remove --force")
        let believed = Topology.stages.filter(\.readsObservations).map { "storekit.\($0.inputTopic)" }
        #expect(Set(former.keys) == Set(believed))
        #expect(Set(former.values) == [["User:dead-letter-replay"]])
    }
}
