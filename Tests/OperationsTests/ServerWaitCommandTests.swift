import Commands
import Kafka
import KitWrappers
import Operations
import Simulation
import TestSupport
import Testing

/// A person who waits for a server hears so.
@Suite struct ServerWaitCommandTests {
    private let transcript = ConsoleTranscript()

    private func run(_ arguments: [String], _ environment: [String: String]) async -> Int32 {
        await PipelineTool.tool.run(arguments, environment, on: transcript)
    }

    @Test func `a wait for Kafka is noted, and so is its answer`() async throws {
        let cluster = try MockCluster()
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 1) }
        try cluster.takeDown()
        let servers = cluster.bootstrapServers
        async let code = run(["reconcile"], ["KAFKA_BOOTSTRAP": servers])
        await eventually("the wait has to be noted") {
            transcript.notes == "waiting for Kafka at \(servers), 30 s at most\n"
        }
        try cluster.bringUp()
        #expect(await code == 0)
        #expect(transcript.notes.contains("Kafka at \(servers) answers\n"))
        #expect(!transcript.output.contains("Kafka at"))
    }

    @Test(arguments: [["link", "list"], ["plan", "--facts"]])
    func `a wait for a PostgreSQL that takes connections and says nothing is noted`(command: [String]) async throws {
        let silent = try LoopbackSocket(isListening: true)
        defer { silent.close() }
        let code = await run(
            command,
            ["DATABASE_URL": "postgresql://anna:secret@127.0.0.1:\(silent.port)/d", "DATABASE_CONNECT_DEADLINE": "3s"])
        #expect(code == 69)
        let lines = transcript.notes.split(separator: "\n")
        #expect(lines.first == "waiting for PostgreSQL at 127.0.0.1:\(silent.port), 3 s at most")
        #expect(!transcript.notes.contains("secret"))
        #expect(lines.count == 2, "\(transcript.notes)")
    }
}
