import Commands
import Foundation
import JSON
import Kafka
import KitWrappers
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

    private func publish(_ arguments: [String], _ environment: [String: String] = [:]) async -> Int32 {
        await PipelineTool.tool.run(
            ["publish"] + arguments, environment.merging(["KAFKA_BOOTSTRAP": cluster.bootstrapServers]) { $1 },
            on: transcript)
    }

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "bodies-\(UUID().uuidString)")
        try Data(text.utf8).write(to: path)
        return path.path
    }

    private func records(of topic: String = "storekit.raw", count: Int) async throws -> [ConsumerRecord] {
        let reader = TopicReader(["bootstrap.servers": cluster.bootstrapServers])
        let records = try await reader.records(of: topic)
        #expect(records.count == count)
        return records
    }

    @Test func `each line that is not blank becomes a record, byte for byte`() async throws {
        let path = try file("{\"a\":1}\n\n \t\nwith\ttab \r\nlast")
        #expect(await publish([path, "--key=k", "--header", "correlation-id=a=b"]) == 0)
        let records = try await records(count: 3)
        #expect(
            records.map { String(decoding: $0.value ?? [], as: UTF8.self) } == ["{\"a\":1}", "with\ttab \r", "last"])
        #expect(records.allSatisfy { $0.key == Array("k".utf8) })
        #expect(records.allSatisfy { $0.headers == [KafkaHeader(name: "correlation-id", text: "a=b")] })
        #expect(transcript.output == "3 bodies acknowledged on storekit.raw\n")
    }

    @Test func `a whole file is one body, its line feeds among its bytes`() async throws {
        let path = try file("a\n\nb\n")
        #expect(await publish([path, "--whole", "--json"]) == 0)
        let records = try await records(count: 1)
        #expect(records.first?.value == Array("a\n\nb\n".utf8))
        #expect(records.first?.key == nil)
        #expect(
            transcript.output == #"{"topic":"storekit.raw","acknowledged":1,"failed":0,"untried":0,"#
                + #""continue_with":null,"failures":[]}"# + "\n")
    }

    @Test(arguments: ["", "\n", " \r\n\t\n"], [[], ["--whole"]])
    func `a file without a body is refused, and the other files are named`(text: String, options: [String]) async throws
    {
        let (path, other) = (try file(text), try file("one"))
        #expect(await publish([path, other] + options) == 65)
        #expect(transcript.notes.contains("\(path) holds no body"), "\(transcript.notes)")
        let command = "go on with: pipeline publish \((options + [other]).joined(separator: " "))\n"
        #expect(transcript.notes.contains(command), "\(transcript.notes)")
        _ = try await records(count: 0)
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

    @Test func `publishing goes on at a line of the first file`() async throws {
        let first = try file("one\ntwo\n\nfour\n")
        let second = try file("five\n")
        #expect(await publish([first, second, "--from=2"]) == 0)
        let records = try await records(count: 3)
        #expect(records.map { String(decoding: $0.value ?? [], as: UTF8.self) } == ["two", "four", "five"])
    }

    @Test func `a line that is empty is passed over to begin with too`() async throws {
        let path = try file("one\n\nthree")
        #expect(await publish([path, "--from=2"]) == 0)
        #expect(try await records(count: 1).first?.value == Array("three".utf8))
    }

    @Test(
        arguments: [
            ("0", 64, "expected an integer from 1"), ("-1", 64, "expected an integer from 1"),
            ("one", 64, "expected an integer from 1"), ("99999999999999999999", 64, "expected an integer from 1"),
            ("3", 65, "has 2 lines; nothing is published"),
            ("9223372036854775807", 65, "has 2 lines; nothing is published"),
        ] as [(String, Int32, String)]) func `a line that the file lacks is refused before any body is published`(
            line: String, code: Int32, note: String
        ) async throws
    {
        let path = try file("one\ntwo\n")
        #expect(await publish([path, "--from", line]) == code)
        #expect(transcript.notes.contains(note), "\(transcript.notes)")
        #expect(transcript.output.isEmpty)
        _ = try await records(count: 0)
    }

    @Test func `whole files have no lines to go on from`() async throws {
        #expect(await publish([try file("one"), "--whole", "--from=1"]) == 64)
    }

    @Test func `a line that is too long ends it with the command that goes on`() async throws {
        let first = try file("one\n")
        let second = try file("two\n" + String(repeating: "x", count: 17 * 1_048_576) + "\n")
        #expect(await publish([first, second, "--key=a b"]) == 65)
        #expect(transcript.output == "2 bodies acknowledged on storekit.raw, the rest never tried\n")
        let command = "go on with: pipeline publish --from=2 '--key=a b' \(second)\n"
        #expect(transcript.notes.contains(command), "\(transcript.notes)")
    }

    @Test func `a cluster that takes nothing leaves the rest untried`() async throws {
        try cluster.fail(.produce, with: Array(repeating: .notEnoughReplicas, count: 1_000))
        let path = try file((1...1_700).map { "{\"body\":\($0)}\n" }.joined())
        let code = await publish([path, "--from=101"], ["RDKAFKA_MESSAGE_TIMEOUT_MS": "1000"])
        #expect(code == 69)
        #expect(transcript.output == "0 bodies acknowledged on storekit.raw, 1,000 not published, 600 never tried\n")
        let command = "go on with: pipeline publish --from=101 \(path)\n"
        #expect(transcript.notes.contains(command), "\(transcript.notes)")
    }

    @Test func `what goes on is the first body that the cluster lacks`() async throws {
        let path = try file("").appending(".pipe")
        try #require(mkfifo(path, 0o600) == 0)
        // Opened for both, it waits for no reader.
        let pipe = try FileHandle(forUpdating: URL(filePath: path))
        try pipe.write(contentsOf: Data(String(repeating: "body\n", count: 500).utf8))
        async let code = publish([path, "--json"], ["RDKAFKA_MESSAGE_TIMEOUT_MS": "1000"])
        try await eventually("the first batch has to be published") {
            let reader = TopicReader(["bootstrap.servers": cluster.bootstrapServers])
            return try await reader.records(of: "storekit.raw").count == 500
        }
        try cluster.takeDown()
        try pipe.write(contentsOf: Data(String(repeating: "body\n", count: 1_200).utf8))
        try pipe.close()
        #expect(await code == 69)
        let report = try JSONDocument(parsing: Array(transcript.output.utf8.dropLast())).root
        #expect(report["acknowledged"]?.int64 == 500)
        #expect(report["failed"]?.int64 == 1_000)
        #expect(report["untried"]?.isNull == true)
        #expect(report["continue_with"]?.string == "pipeline publish --from=501 --json \(path)", "\(transcript.output)")
    }
}
