import Foundation
import Kafka
import Operations
import TestSupport
import Testing

@Suite struct PublishCommandTests {
    private let transcript = ConsoleTranscript()
    private let cluster: MockCluster

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("storekit.raw", partitions: 1)
    }

    private func publish(_ arguments: [String]) async -> Int32 {
        await PipelineTool.tool.run(
            ["publish"] + arguments,
            in: CommandContext(
                console: transcript.console(),
                environment: ["KAFKA_BOOTSTRAP": cluster.bootstrapServers],
                executables: "/nowhere"
            )
        )
    }

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "bodies-\(UUID().uuidString)")
        try Data(text.utf8).write(to: path)
        return path.path
    }

    private func records(of topic: String = "storekit.raw", count: Int) async throws
        -> [ConsumerRecord]
    {
        let reader = TopicReader(["bootstrap.servers": cluster.bootstrapServers])
        let records = try await reader.records(of: topic, deadline: .seconds(30))
        #expect(records.count == count)
        return records
    }

    @Test func `each line that is not empty becomes a record, byte for byte`() async throws {
        let path = try file("{\"a\":1}\n\nwith\ttab \r\nlast")
        #expect(await publish([path, "--key=k", "--header", "correlation-id=a=b"]) == 0)
        let records = try await records(count: 3)
        #expect(
            records.map { String(decoding: $0.value ?? [], as: UTF8.self) }
                == ["{\"a\":1}", "with\ttab \r", "last"]
        )
        #expect(records.allSatisfy { $0.key == Array("k".utf8) })
        #expect(
            records.allSatisfy { $0.headers == [KafkaHeader(name: "correlation-id", text: "a=b")] }
        )
        #expect(transcript.output == "3 bodies acknowledged on storekit.raw\n")
    }

    @Test func `a whole file is one body, its line feeds among its bytes`() async throws {
        let path = try file("a\n\nb\n")
        #expect(await publish([path, "--whole", "--json"]) == 0)
        let records = try await records(count: 1)
        #expect(records.first?.value == Array("a\n\nb\n".utf8))
        #expect(records.first?.key == nil)
        #expect(
            transcript.output
                == #"{"topic":"storekit.raw","acknowledged":1,"failed":0,"failures":[]}"# + "\n"
        )
    }

    @Test func `a body that the cluster does not take is named by its line`() async throws {
        let path = try file("good\n" + String(repeating: "x", count: 4_000_000) + "\ngood\n")
        #expect(await publish([path]) == 1)
        #expect(transcript.notes.contains("\(path):2: not published"))
        #expect(transcript.output == "2 bodies acknowledged on storekit.raw, 1 not published\n")
        _ = try await records(count: 2)
    }

    @Test func `a file that is not there ends with 66 before any body is published`() async throws {
        let path = try file("one\n")
        #expect(await publish([path, "/nowhere/bodies", "--topic", "storekit.other"]) == 66)
        #expect(transcript.output.isEmpty)
        #expect(transcript.notes.contains("cannot read /nowhere/bodies"))
    }

    @Test func `a topic that does not exist is not made by writing to it`() async throws {
        let path = try file("one\n")
        #expect(await publish([path, "--topic", "storekit.other"]) == 69)
        #expect(transcript.notes.contains("create it with 'pipeline topics'"))
    }
}
