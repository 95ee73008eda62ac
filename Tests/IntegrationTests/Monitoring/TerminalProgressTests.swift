import Foundation
import Kafka
import KitWrappers
import Operations
import Settings
import Simulation
import TestSupport
import Testing

/// The progress of `pipeline publish` as a process of its own, on a terminal and without one.
@Suite(.needsBuiltWorkers, .timeLimit(.minutes(10))) struct TerminalProgressTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    private let cluster: MockCluster

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("storekit.raw", partitions: 1)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func file(_ name: String, lines: Int = 0) throws -> String {
        let text = String(repeating: "body\n", count: lines)
        try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        return "\(folder)/\(name)"
    }

    private func publish(_ path: String, errors: String) throws -> (ChildProcess, output: String) {
        let output = try file("output")
        let child = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/pipeline", arguments: ["publish", path],
            environment: [
                "PATH": "/usr/bin:/bin", "TERM": "xterm", "SWIFT_BACKTRACE": "enable=no",
                "KAFKA_BOOTSTRAP": cluster.bootstrapServers,
            ], standardOutput: .file(path: output), standardError: .file(path: errors))
        return (child, output)
    }

    private func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    @Test func `on a terminal one line is written over, and results stay apart`() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        try cluster.delayAnswers(by: .milliseconds(400))
        let (child, output) = try publish(try file("bodies", lines: 3_000), errors: terminal.path)
        var shown = ""
        await eventually("publish has to end") {
            shown += terminal.readWritten()
            return child.end != nil
        }
        shown += terminal.readWritten()
        #expect(child.end == .exited(code: 0))
        #expect(text(of: output) == "3,000 bodies acknowledged on storekit.raw\n")
        let frames = shown.components(separatedBy: "\r\u{1B}[K").dropFirst()
        #expect(frames.contains("publishing: 0 of 3,000 bodies"), "\(frames)")
        let full = /publishing: [\d,]+ of 3,000 bodies, [\d,.]+\/s, \d+ s left/
        #expect(frames.contains { $0.wholeMatch(of: full) != nil }, "\(frames)")
        #expect(frames.allSatisfy { $0.count < 80 && !$0.contains("\n") }, "\(frames)")
        #expect(frames.last == "", "the line has to be taken away: \(frames)")
    }

    @Test func `without a terminal quick work writes nothing beside its result`() async throws {
        let errors = try file("errors")
        let (child, output) = try publish(try file("bodies", lines: 3), errors: errors)
        #expect(try await child.waitForEnd(deadline: .hopeless) == .exited(code: 0))
        #expect(text(of: output) == "3 bodies acknowledged on storekit.raw\n")
        #expect(text(of: errors).isEmpty, "\(text(of: errors))")
    }

    @Test(arguments: [SIGINT, SIGTERM]) func `a signal ends it with what the cluster has, and the command that goes on`(
        signal: Int32
    ) async throws {
        let path = "\(folder)/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        // Opened for both, it waits for no reader.
        let pipe = try FileHandle(forUpdating: URL(filePath: path))
        try pipe.write(contentsOf: Data(String(repeating: "body\n", count: 503).utf8))
        let errors = try file("errors")
        let (child, output) = try publish(path, errors: errors)
        try await eventually("the first batch has to be published") {
            let reader = TopicReader(["bootstrap.servers": cluster.bootstrapServers])
            return try await reader.records(of: "storekit.raw").count == 500
        }
        child.signal(signal)
        let end = try await child.waitForEnd(deadline: .hopeless)
        #expect(end == .exited(code: ExitCode.interrupted), "\(text(of: errors))")
        let result = "500 bodies acknowledged on storekit.raw, the rest never tried\n"
        #expect(text(of: output) == result)
        #expect(text(of: errors) == "go on with: pipeline publish --from=501 \(path)\n")
        try pipe.close()
    }
}
