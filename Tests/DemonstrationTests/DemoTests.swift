import Demonstration
import Foundation
import JSON
import Simulation
import Operations
import TestSupport
import Testing
import Settings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct DemoTests {
    private static let executables = URL(filePath: CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().path
    private let transcript = ConsoleTranscript()

    private func demo(_ arguments: [String], executables: String = executables) async -> Int32 {
        await DemoTool.tool.run(
            ["--count=300"] + arguments,
            in: CommandContext(
                console: transcript.console(),
                environment: ["PATH": "/usr/bin:/bin"],
                executables: executables
            )
        )
    }

    @Test func `the whole pipeline comes to what the traffic asks for`() async throws {
        #expect(await demo(["--json"]) == 0, "\(transcript.notes)")
        let result = try JSONDocument(parsing: Array(transcript.output.utf8)).root
        #expect(result["isGood"]?.bool == true)
        #expect(result["bodies"]?.int64 == 300)
        #expect(result["wrongUsers"]?.int64 == 0)
        let reconciliation = try #require(result["reconciliation"])
        #expect(reconciliation["isBalanced"]?.bool == true)
        #expect(reconciliation["isSettled"]?.bool == true)
    }

    @Test(.enabled(if: RealKafka.isAvailable, "needs a real Kafka"))
    func `servers that are there already are left as they were`() async throws {
        let bootstrap = try await RealKafka.bootstrapServers()
        let server = try await PostgresServer.shared.server()
        let given = ["--kafka", bootstrap, "--postgres", server.connectionString()]
        #expect(await demo(given + ["--seed=7"]) == 0, "\(transcript.notes)")
        #expect(transcript.output.contains("All as it must be"))
        #expect(!transcript.notes.contains("not removed"))
    }

    @Test func `without the workers' programs it says how to get them`() async {
        #expect(await demo([], executables: "/nowhere") == 69)
        #expect(transcript.notes.contains("verify-worker"))
        #expect(transcript.notes.contains("swift build"))
    }

    @Test(arguments: ["--count=10", "--count=5000", "--seed=-1", "--kafka=nonsense"])
    func `options that cannot be are refused`(option: String) async {
        let code = await DemoTool.tool.run(
            [option],
            in: CommandContext(
                console: transcript.console(),
                environment: [:],
                executables: "/nowhere"
            )
        )
        #expect(code == 64)
    }

    @Test func `an interrupted demo stops what it started`() async throws {
        let notes = ConsoleTranscript()
        let console = notes.console()
        let process = try ChildProcess(
            executable: "\(Self.executables)/demo",
            arguments: [],
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": try temporaryFolder()],
            standardError: .lines { console.note($0) }
        )
        await eventually(within: .seconds(120)) {
            notes.notes.contains("running on")
        }
        process.signal(SIGINT)
        let end = try await process.waitForEnd(deadline: .seconds(60))
        #expect(end == .exited(code: 130))
        #expect(notes.notes.contains("stopping what was started"))
    }

    private func temporaryFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.path
    }
}
