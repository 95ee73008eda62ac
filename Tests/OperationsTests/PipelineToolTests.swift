import Commands
import Foundation
import Postgres
import Settings
import TestSupport
import Testing

@testable import Operations

@Suite struct PipelineToolTests {
    private let transcript = ConsoleTranscript()

    private func run(_ arguments: String..., environment: [String: String] = [:]) async -> Int32 {
        await PipelineTool.tool.run(arguments, environment, on: transcript)
    }

    @Test func `without a command the overview goes to standard error`() async {
        #expect(await run() == 64)
        #expect(transcript.notes.hasPrefix("Usage: pipeline COMMAND"))
        #expect(transcript.output.isEmpty)
    }

    @Test(arguments: ["--help", "-h", "help"]) func `the overview that was asked for goes to standard output`(
        word: String
    ) async {
        #expect(await run(word) == 0)
        #expect(transcript.output.contains("topics"))
        #expect(transcript.notes.isEmpty)
    }

    @Test(arguments: [
        ("pipeline rec", ["reconcile", "recover"]), ("pipeline catalog ", ["check", "apply", "revert"]),
        ("pipeline recover fe", ["feed"]), ("pipeline recover feed --rep", ["--republish"]),
        ("pipeline account state --stage ent", ["entitle"]), ("pipeline explain anna --kn", ["--known-at"]),
        ("pipeline completion z", ["zsh"]),
    ]) func `bash completes commands in families and their options`(line: String, words: [String]) async throws {
        #expect(await run("completion", "bash") == 0)
        let (completed, loaded) = try BashCompletion.words(transcript.output, line)
        #expect(loaded == "complete -F _pipeline pipeline\n")
        #expect(Set(completed) == Set(words))
    }

    @Test func `files of secrets and keys that every user may read are named`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.appending(path: name)
            try text.write(to: url, atomically: true, encoding: .utf8)
            return url.path
        }
        let secrets = try ["url", "app.p8", "client.key"].map { try file($0, "secret") }
        let app =
            #"{"bundle_id": "a.b", "environment": "Sandbox", "api_issuer_id": "i", "api_key_id": "k", "#
            + #""api_key_file": "\#(secrets[1])"}"#
        let settings = try file(
            "settings.json", #"{"apps": [\#(app)], "rdkafka": {"ssl.key.location": "\#(secrets[2])"}}"#)
        for (mode, count) in [(0o640, 0), (0o644, 1)] as [(mode_t, Int)] {
            for path in secrets { #expect(chmod(path, mode) == 0) }
            _ = await run("status", "--config", settings, environment: ["DATABASE_URL_FILE": secrets[0]])
            for path in secrets {
                let line =
                    "pipeline status: \(path): every user of this machine may read this secret: chmod o-r \(path)"
                #expect(transcript.notes.ranges(of: line).count == count, "\(transcript.notes)")
            }
        }
    }

    @Test func `an unknown command is named`() async {
        #expect(await run("frobnicate") == 64)
        #expect(transcript.notes.contains("there is no command \"frobnicate\""))
        #expect(!transcript.notes.contains("did you mean"))
    }

    @Test(arguments: [("statsu", "status"), ("catlog", "catalog"), ("revok-grant", "revoke-grant")])
    func `a misspelt command is answered with the one that may be meant`(word: String, meant: String) async {
        #expect(await run(word) == 64)
        let answer = "pipeline: there is no command \"\(word)\", did you mean \(meant)?\n"
        #expect(transcript.notes.hasPrefix(answer))
    }

    @Test func `the overview has a whole sentence for each command, and the exit codes`() async {
        #expect(await run("--help") == 0)
        let list = transcript.output.components(separatedBy: "Commands:\n").last ?? ""
        let lines = list.components(separatedBy: "\n\n").first?.split(separator: "\n") ?? []
        let commands = lines.filter { $0.prefix(3).last != " " }
        #expect(commands.count == lines.count { $0.hasSuffix(".") } && commands.count > 15)
        #expect(transcript.output.hasSuffix(ExitCode.help))
    }

    @Test func `a command explains its options`() async {
        #expect(await run("topics", "--help") == 0)
        #expect(transcript.output.contains("--partitions"))
        #expect(transcript.output.contains("--dead-letter-retention"))
    }

    @Test(arguments: [
        ["topics", "--partitions=0"], ["topics", "--retention=soon"], ["topics", "--compression=rar"],
        ["topics", "surplus"], ["publish", "--header=x"],
    ]) func `a wrong option ends with 64 and says where help is`(arguments: [String]) async {
        let code = await PipelineTool.tool.run(arguments, ["KAFKA_BOOTSTRAP": "127.0.0.1:1"], on: transcript)
        #expect(code == 64)
        #expect(transcript.notes.contains("Try 'pipeline \(arguments[0]) --help'."))
    }

    @Test(arguments: ["23514": 65, "22003": 65, "08006": 69, "42501": 78] as [String: Int32])
    func `a value that the database refuses is wrong input, and no outage`(state: String, exitCode: Int32) {
        let error = PostgresError(code: .server, message: "no", sqlState: SQLState(state))
        #expect(CommandError(describing: error).exitCode == exitCode)
    }

    @Test(arguments: [
        (["link", "ad"], #"pipeline link: there is no command "ad", did you mean add?"#),
        (["catalog", "aply"], #"there is no command "aply", did you mean apply?"#),
        (["link", "nothing"], #"pipeline link: there is no command "nothing""#),
        (["link", "add", "--form=x"], "there is no option --form, did you mean --from?"),
    ]) func `a slip inside a family of commands is named`(arguments: [String], message: String) async {
        let code = await PipelineTool.tool.run(arguments, on: transcript)
        #expect(code == 64)
        #expect(transcript.notes.contains(message), "\(transcript.notes)")
    }

    @Test func `a token that is no UUID is refused before a database is asked`() async {
        #expect(await run("link", "add", "account_token", "notauuid", "user-1") == 64)
        #expect(transcript.notes.contains("expected a UUID"))
    }

    @Test func `a variable that is nearly a setting of any worker is warned about`() async {
        let code = await PipelineTool.tool.run(
            ["catalog", "check", "/nowhere.json"],
            [
                "VERIFY_THREDS": "3", "KAFKA_BOOTSTRP": "a:1", "DATABASE_CONNECTIONS_MAX": "2",
                "KAFKA_SESSION_TIMEOUT": "9s", "VERIFY_SERVICE_HOST": "10.0.0.1",
            ], on: transcript)
        #expect(code == 66)
        #expect(transcript.notes.contains("VERIFY_THREDS (environment): there is no such setting"))
        #expect(transcript.notes.contains("did you mean KAFKA_BOOTSTRAP?"))
        #expect(transcript.notes.matches(of: /did you mean/).count == 2, "\(transcript.notes)")
    }

    @Test func `settings that are missing end with 78`() async {
        #expect(await run("topics") == 78)
        #expect(transcript.notes.contains("kafka.bootstrap"))
    }

    @Test func `an unreadable settings file ends with 78 and is named`() async {
        #expect(await run("topics", "--config", "/nowhere/settings.json") == 78)
        #expect(transcript.notes.contains("/nowhere/settings.json"))
    }
}
