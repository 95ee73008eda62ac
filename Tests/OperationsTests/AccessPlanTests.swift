import Foundation
import Operations
import Records
import Settings
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
            environment: ["KAFKA_BOOTSTRAP": "localhost:9092"]
        )
        #expect(await PipelineTool.tool.run(["grants", "--only=kafka"], in: context) == 0)
        var holders: [String: Set<String>] = [:]
        for line in transcript.output.split(separator: "\n") where line.contains(action) {
            let words = line.split(separator: " ").map { String($0).replacing("'", with: "") }
            func word(after name: String) -> String? {
                words.firstIndex(of: name).map { words[$0 + 1] }
            }
            guard let topic = word(after: "--topic"), word(after: "--operation") == operation else {
                continue
            }
            holders[topic, default: []].insert(word(after: "--allow-principal") ?? "")
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
                "User:ingestion", "User:recovery-worker", "User:dead-letter-replay",
                "User:pipeline-operator",
            ]
        )
    }

    @Test func `the rights of earlier versions to write such topics are taken back`() async throws {
        let former = await holders(of: "Write", "--remove --force")
        let believed = Topology.stages.filter(\.readsObservations).map {
            "storekit.\($0.inputTopic)"
        }
        #expect(Set(former.keys) == Set(believed))
        #expect(Set(former.values) == [["User:dead-letter-replay"]])
    }
}
