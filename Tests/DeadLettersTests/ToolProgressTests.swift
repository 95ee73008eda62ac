import DeadLetters
import Foundation
import Settings
import Simulation
import TestSupport
import Testing

/// Long work and waits of the auditors' tool.
@Suite(.timeLimit(.minutes(10))) struct ToolProgressTests {
    @Test func `on a terminal it shows how much of the topic is read`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<40))
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        let runs = [
            ("reading", await rig.tool("tail", "--from-topic", isInteractive: true)),
            ("verifying", await rig.tool("verify", isInteractive: true)),
            ("verifying", await rig.tool("anchor", isInteractive: true)),
            ("exporting", await rig.tool("export", "--to", folder, isInteractive: true)),
            ("verifying", await rig.tool("verify", "--offline", "\(folder)/manifest.json", isInteractive: true)),
        ]
        for (step, run) in runs {
            let isShown = run.notes.contains(try Regex(#"\r\x{1B}\[K\#(step)[^:]*: \d+ of 40 records"#))
            #expect(isShown, "\(run.notes)")
            #expect(!run.result.contains("\u{1B}"))
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `without a terminal quick work shows no progress`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<40))
        let run = await rig.tool("anchor", "--json")
        #expect(!run.notes.contains("verifying"), "\(run.notes)")
    }

    @Test func `a wait for a server that says nothing is noted`() async throws {
        let silent = try LoopbackSocket(isListening: true)
        defer { silent.close() }
        let place = "127.0.0.1:\(silent.port)"
        let database = await ToolRun(
            ["search", "x"],
            environment: ["DATABASE_URL": "postgresql://anna:secret@\(place)/d", "DATABASE_CONNECT_DEADLINE": "3s"])
        #expect(database.exitCode == ExitCode.unavailable)
        #expect(database.notes.hasPrefix("waiting for PostgreSQL at \(place), 3 s at most\n"))
        #expect(!database.notes.contains("secret"))
        let kafka = await ToolRun(["tail", "--kafka", place])
        #expect(kafka.exitCode == ExitCode.unavailable)
        #expect(kafka.notes.hasPrefix("waiting for Kafka at \(place), 15 s at most\n"))
    }
}
