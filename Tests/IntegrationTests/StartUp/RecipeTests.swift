import Foundation
import Kafka
import KitWrappers
import Operations
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology

/// The README's way from nothing to an entitlement, and the story of the page of testing after it, as they are
/// written there.
@Suite(.needsKafkaLauncher, .needsBuiltWorkers, .timeLimit(.minutes(10))) struct RecipeTests {
    @Test func `the README's recipe leads from an empty broker to an entitlement, and the story to a trial`()
        async throws
    { try await OwnBroker.lend(.real) { broker in try await Self.follow(on: broker.cluster.bootstrapServers) } }

    private static func follow(on bootstrap: String) async throws {
        let database = try await PostgresServer.shared.emptyDatabase()
        let blocks = try blocks()
        try #require(blocks.count == 2)
        var commands = blocks[0]
        for (written, actual) in [
            ("localhost:9092", bootstrap), ("postgresql://localhost/entitlements", "'\(database.connectionString)'"),
        ] {
            #expect(commands.ranges(of: written).count == 1, "\(written)")
            commands = commands.replacing(written, with: actual)
        }
        let explain = try #require(commands.range(of: "\npipeline explain"))
        commands.replaceSubrange(explain, with: "\n\(waiting)\npipeline explain")
        let story = try #require(CommandPage("deploy/testing.md").code["sh"])
        let output = try await run([commands, story, waiting].joined(separator: "\n"))
        try await PostgresConnection.lend(database) { connection in
            #expect(try await connection.query(blocks[1])[0].bool(0), "\(output)")
            let trials = try await connection.query(
                "SELECT will_renew FROM subscriptions WHERE user_id = 'user-17' AND is_trial")
            #expect(trials.map { $0.optionalBool(0) } == [false], "\(output)")
        }
    }

    /// A reader sees in the status when the workers have done it.
    private static let waiting = """
        for try in $(seq 120); do
            pipeline reconcile --json | grep -q '"is_settled":true' && break
            sleep 1
        done
        """

    /// The section's blocks of code: a shell's, then SQL.
    private static func blocks() throws -> [String] {
        let url = URL(filePath: PostgresServer.migrations.path).appending(path: "../../README.md")
        let readme = try String(contentsOf: url, encoding: .utf8)
        let start = try #require(readme.range(of: "## Your own Kafka and PostgreSQL"))
        let section = readme[start.upperBound...]
        let end = section.range(of: "\n## ")?.lowerBound ?? section.endIndex
        let parts = section[..<end].components(separatedBy: "```")
        return parts.indices.filter { !$0.isMultiple(of: 2) }.map { index in String(parts[index].drop { $0 != "\n" }) }
    }

    /// Runs commands in a folder beside which the package has been built.
    private static func run(_ commands: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder.appending(path: ".build"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: ".build/release").path, withDestinationPath: BuiltWorkers.folder)
        let output = folder.appending(path: "output").path
        let script = """
            set -eu
            cd '\(folder.path)'
            trap 'kill $(jobs -p); wait' EXIT
            \(commands)
            """
        let shell = try ChildProcess(
            executable: "/bin/bash", arguments: ["-c", script],
            environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"], standardOutput: .file(path: output),
            standardError: .file(path: output))
        let end = try await shell.waitForEnd(deadline: .hopeless)
        let text = try String(contentsOfFile: output, encoding: .utf8)
        #expect(end == .exited(code: 0), "\(text)")
        return text
    }
}

/// `pipeline run`, with scripts as the programs.
@Suite(.timeLimit(.minutes(10))) struct RunTests {
    private static let programs = Topology.stages.map(\.program) + ["dead-letter"]
    private static let sleeper = "#!/bin/sh\necho $$ >\"$0.pid\"\nexec sleep 600\n"
    private let folder: String
    private let cluster: MockCluster

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: "\(BuiltWorkers.folder)/pipeline", toPath: "\(folder)/pipeline")
        cluster = try MockCluster()
    }

    private func makeTopics() throws {
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 1) }
    }

    private func write(_ script: String, as program: String) throws {
        let made = FileManager.default.createFile(
            atPath: "\(folder)/\(program)", contents: Data(script.utf8), attributes: [.posixPermissions: 0o755])
        try #require(made)
    }

    private func start() throws -> ChildProcess {
        try ChildProcess(
            executable: "\(folder)/pipeline", arguments: ["run", "--logs", "\(folder)/logs"],
            environment: [
                "PATH": "/usr/bin:/bin", "KAFKA_BOOTSTRAP": cluster.bootstrapServers,
                // Names the check that deploy/mutate.sh has taken out.
                "MUTATION": ProcessInfo.processInfo.environment["MUTATION"] ?? "0",
            ], standardOutput: .file(path: "\(folder)/output"), standardError: .file(path: "\(folder)/output"))
    }

    private var output: String { (try? String(contentsOfFile: "\(folder)/output", encoding: .utf8)) ?? "" }

    /// The numbers of the sleepers' processes.
    private func processIDs() -> [Int32] {
        Self.programs.compactMap { program in
            let text = try? String(contentsOfFile: "\(folder)/\(program).pid", encoding: .utf8)
            return text.flatMap { Int32($0.split(separator: "\n").first ?? "") }
        }
    }

    private func areGone(_ processIDs: [Int32]) -> Bool { processIDs.allSatisfy { kill($0, 0) != 0 } }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func `the programs end with the command, by whichever signal`(
        signal: Int32
    ) async throws {
        try makeTopics()
        try Self.programs.forEach { try write(Self.sleeper, as: $0) }
        let process = try start()
        await eventually { processIDs().count == 5 && output.contains("running, logs in") }
        let children = processIDs()
        #expect(children.count == 5 && !areGone(children), "\(output)")
        process.signal(signal)
        let end = try await process.waitForEnd(deadline: .hopeless)
        #expect(end == (signal == SIGKILL ? .signalled(SIGKILL) : .exited(code: 0)), "\(output)")
        await eventually { areGone(children) }
        #expect(areGone(children))
    }

    @Test func `a program that ends stops the others, and its last words are shown`() async throws {
        try makeTopics()
        try Self.programs.forEach { try write(Self.sleeper, as: $0) }
        try write("#!/bin/sh\necho no such setting\nexit 78\n", as: "link-worker")
        let process = try start()
        #expect(try await process.waitForEnd(deadline: .hopeless) == .exited(code: 70))
        #expect(output.contains("link-worker has ended with 78:\n  no such setting"), "\(output)")
        #expect(areGone(processIDs()))
    }

    @Test func `without topics or programs nothing is started, and it says what to do`() async throws {
        let process = try start()
        #expect(try await process.waitForEnd(deadline: .hopeless) == .exited(code: 66))
        #expect(output.contains("verify-worker") && output.contains("swift build"), "\(output)")
        try Self.programs.forEach { try write(Self.sleeper, as: $0) }
        let second = try start()
        #expect(try await second.waitForEnd(deadline: .hopeless) == .exited(code: 69))
        #expect(output.contains("create it with 'pipeline topics'"), "\(output)")
        #expect(processIDs().isEmpty)
    }
}
