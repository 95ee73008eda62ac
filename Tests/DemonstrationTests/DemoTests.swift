import Commands
import Demonstration
import Foundation
import JSON
import Operations
import Records
import Release
import Simulation
import TestSupport
import Testing
import Topology

@Suite(.serialized, .timeLimit(.minutes(10))) struct DemoTests {
    private static let executables = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().path
    private let transcript = ConsoleTranscript()

    private func demo(_ arguments: [String], executables: String = executables) async -> Int32 {
        await DemoTool.tool.run(
            ["--count=300"] + arguments,
            in: CommandContext(
                console: transcript.console(), environment: ["PATH": "/usr/bin:/bin"], executables: executables))
    }

    @Test func `the whole pipeline comes to what the traffic asks for`() async throws {
        #expect(await demo(["--json"]) == 0, "\(transcript.notes)")
        PublishedSchema.expect("demo", ["--json"], transcript.output.utf8)
        let result = try JSONDocument(parsing: Array(transcript.output.utf8)).root
        #expect(result["is_good"]?.bool == true)
        #expect(result["bodies"]?.int64 == 300)
        #expect(result["wrong_users"]?.int64 == 0)
        let reconciliation = try #require(result["reconciliation"])
        #expect(reconciliation["is_balanced"]?.bool == true)
        #expect(reconciliation["is_settled"]?.bool == true)
    }

    @Test(arguments: [("demo --ke", "--keep"), ("demo sa", "sample"), ("demo sample --st", "--story")])
    func `bash completes the demo's own options and its commands`(line: String, word: String) async throws {
        #expect(await DemoTool.tool.run(["completion", "bash"], on: transcript) == 0)
        #expect(try BashCompletion.words(transcript.output, line).words == [word])
    }

    @Test func `what is lost on the way is fetched from Apple's server`() async throws {
        #expect(await demo(["--recovery"]) == 0, "\(transcript.notes)")
        #expect(transcript.notes.contains(" lack what they bought"))
        #expect(transcript.output.contains("5. What never arrived: "))
        #expect(transcript.output.contains("All as it must be"))
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
        #expect(await demo([], executables: "/nowhere") == 66)
        #expect(transcript.notes.contains("verify-worker"))
        #expect(transcript.notes.contains("swift build"))
    }

    @Test(arguments: ["--count=10", "--count=5000", "--seed=-1", "--kafka=nonsense"])
    func `options that cannot be are refused`(option: String) async {
        #expect(await DemoTool.tool.run([option], on: transcript) == 64)
    }

    @Test func `an interrupted demo stops what it started`() async throws {
        let notes = ConsoleTranscript()
        let console = notes.console()
        let process = try ChildProcess(
            executable: "\(Self.executables)/demo", arguments: [],
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": try temporaryFolder()],
            standardError: .lines { console.note($0) })
        await eventually(within: .seconds(120)) { notes.notes.contains("running on") }
        process.signal(SIGINT)
        let end = try await process.waitForEnd(deadline: .hopeless)
        #expect(end == .exited(code: 130))
        #expect(notes.notes.contains("stopping what was started"))
    }

    @Test func `a kept demo has an index and a console, which end with it`() async throws {
        let notes = ConsoleTranscript()
        let console = notes.console()
        let process = try ChildProcess(
            executable: "\(Self.executables)/demo", arguments: ["--count=300", "--keep"],
            environment: ["PATH": "/usr/bin:/bin", "TMPDIR": try temporaryFolder()],
            standardError: .lines { console.note($0) })
        await eventually(within: .seconds(240)) { notes.notes.contains("In another terminal") }
        let line = /http:\/\/127\.0\.0\.1:(\d+), user (\w+), password (\w+)/
        let match = try #require(notes.notes.firstMatch(of: line), "\(notes.notes)")
        let client = ConsoleClient(port: try #require(UInt16(match.1)))
        try await client.signIn(String(match.2), String(match.3))
        let overview = try await client.get("/")
        #expect(overview.status == 200)
        let settings = try #require(notes.notes.firstMatch(of: /--config (\S+)/)).1
        let list = try await output("dead-letter", ["count", "--config", String(settings)])
        #expect(overview.body.contains("signature_<wbr>invalid"))
        #expect(list.contains("signature_invalid"))
        process.signal(SIGINT)
        #expect(try await process.waitForEnd(deadline: .hopeless) == .exited(code: 0))
        await #expect(throws: (any Error).self) { try await client.get("/") }
    }

    private func output(_ program: String, _ arguments: [String]) async throws -> String {
        let file = try temporaryFolder() + "/output"
        let process = try ChildProcess(
            executable: "\(Self.executables)/\(program)", arguments: arguments, environment: ["PATH": "/usr/bin:/bin"],
            standardOutput: .file(path: file))
        try await process.waitForEnd(deadline: .hopeless)
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    /// The programs of a build, with a script instead of `dead-letter`, or without it if nil.
    private func programs(deadLetter script: String?) throws -> String {
        let folder = try temporaryFolder()
        for stage in Topology.stages {
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/\(stage.program)", withDestinationPath: "\(Self.executables)/\(stage.program)")
        }
        if let script {
            let made = FileManager.default.createFile(
                atPath: "\(folder)/dead-letter", contents: Data(script.utf8), attributes: [.posixPermissions: 0o755])
            try #require(made)
        }
        return folder
    }

    @Test func `a kept demo whose console ends stops everything and prints why`() async throws {
        let folder = try programs(deadLetter: "#!/bin/sh\necho no port\n")
        #expect(await demo(["--keep"], executables: folder) == 70)
        #expect(transcript.notes.contains("has ended (exit code 0):\n  no port"))
        #expect(!transcript.notes.contains("not removed"))
    }

    @Test func `a kept demo begins only where dead-letter has been built`() async throws {
        #expect(await demo(["--keep"], executables: try programs(deadLetter: nil)) == 66)
        #expect(transcript.notes.contains("dead-letter not found"))
    }

    @Test(arguments: [
        "verify-worker", "dedupe-worker", "link-worker", "entitle-worker", "pipeline", "dead-letter", "demo", "bench",
    ]) func `an executable prints version, commit and schema without a setting`(program: String) async throws {
        let build = "commit \(Release.commit), schema \(Release.schema)"
        #expect(try await output(program, ["--version"]) == "\(program) \(Release.version), \(build)\n")
    }

    private func temporaryFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.path
    }
}
