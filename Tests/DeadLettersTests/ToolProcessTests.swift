import AppStore
import Foundation
import Postgres
import Simulation
import Store
import Synchronization
import TestSupport
import Testing

/// The effect of signals on the program.
@Suite(.timeLimit(.minutes(10))) struct ToolProcessTests {
    /// The path of the tool, which the build puts beside this test bundle.
    static let executable: String = {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: own ?? CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "dead-letter")
            .path
    }()

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock(\.self) }

        @Sendable func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private static func start(
        _ rig: IndexRig, _ arguments: [String], _ output: Lines, notes: ChildProcess.Output = .inherited,
        kafka: String? = nil
    ) throws -> ChildProcess {
        let process = ProcessInfo.processInfo.environment
        let own = ["DATABASE_URL": rig.options.connectionString, "USER": "anna", "HTTP_PORT": "0"]
        return try ChildProcess(
            executable: executable,
            arguments: arguments + ["--kafka", kafka ?? rig.cluster.bootstrapServers, "--prefix", rig.prefix],
            environment: process.merging(own) { $1 }, standardOutput: .lines(output.add), standardError: notes)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `a signal ends the indexer in order, and the next one continues after it`(
        signal: Int32
    ) async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<200))
        let indexer = try Self.start(rig, ["index"], Lines())
        try await eventually("the indexer has to index") { try await rig.count() == 200 }
        try await rig.send(rig.letters(200..<300))
        indexer.signal(signal)
        let end = try await indexer.waitForEnd(deadline: .hopeless)
        #expect(end == .exited(code: 0), "\(end)")
        try await rig.index()
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.count == 300)
        #expect(rows.allSatisfy { $0.copies == 1 })
    }

    @Test func `a signal ends an index up to the end that waits for Kafka as interrupted`() async throws {
        let rig = try await IndexRig()
        let (output, notes) = (Lines(), Lines())
        let indexer = try Self.start(
            rig, ["index", "--until-end"], output, notes: .lines(notes.add), kafka: "127.0.0.1:1")
        await eventually("it has to start") { (output.all + notes.all).contains { $0.contains("worker started") } }
        indexer.signal(SIGINT)
        let end = try await indexer.waitForEnd(deadline: .hopeless)
        #expect(end == .exited(code: 130), "\(end)")
        await eventually("it has to say why") { notes.all.last == "dead-letter index: interrupted" }
    }

    @Test func `tail follows until it is interrupted, and prints what its filter names`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        let lines = Lines()
        let tail = try Self.start(
            rig, ["tail", "--follow", "--limit=2", "--json", "--reason=signature_invalid"], lines)
        await eventually("the newest have to be printed") { lines.all.count == 2 }
        try await rig.send(
            rig.letters(10..<12, .init(reason: .rootUntrusted, detail: "another")) + rig.letters(20..<23))
        await eventually("the new ones have to be printed") { lines.all.count == 5 }
        #expect(!lines.all.contains { $0.contains("root_untrusted") })
        tail.signal(SIGINT)
        let end = try await tail.waitForEnd(deadline: .hopeless)
        #expect(end == .exited(code: 0), "\(end)")
        #expect(lines.all.count == 5)
    }
}
