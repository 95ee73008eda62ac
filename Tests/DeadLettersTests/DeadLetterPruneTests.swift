import Commands
import DeadLetters
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Store
import TestSupport
import Testing

/// `dead-letter index --prune` removes only rows of letters that the topic has removed.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterPruneTests {
    /// Removes letters as retention does.
    ///
    /// Only a real broker removes records and moves its watermark.
    private static func removeLetters(before offset: Int, _ rig: IndexRig) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let offsets = """
            {"version":1,"partitions":[
            {"topic":"\(rig.topic.name)","partition":0,"offset":\(offset)}]}
            """
        try offsets.write(to: file, atomically: true, encoding: .utf8)
        try await RealKafka.run([
            "tool", "--dir", NSTemporaryDirectory(), "delete-records", "--bootstrap-server",
            rig.cluster.bootstrapServers, "--offset-json-file", file.path,
        ])
    }

    private static func hours(_ rig: IndexRig) async throws -> Int64 {
        let rows = try await rig.client.query("SELECT sum(letters)::int8 FROM dead_letter_hours")
        return rows[0].int8(0)
    }

    @Test(.needsKafkaLauncher) func `rows of letters that retention has removed are pruned, and no others`()
        async throws
    {
        let rig = try await IndexRig(.real, partitions: 1)
        // The first of them twice, so that the topic may hold a later copy.
        try await rig.send(rig.letters(0..<20) + rig.letters(0..<1))
        try await rig.index()
        let none = await rig.tool("index", "--prune")
        #expect(none.exitCode == 0, "\(none.notes)")
        #expect(none.result == "0 rows would be removed\n")
        let resolved = await rig.tool("resolve", "--state", "open", "--why", "seen", "--yes")
        #expect(resolved.exitCode == 0, "\(resolved.notes)")

        try await Self.removeLetters(before: 21, rig)
        try await rig.send(rig.letters(20..<50))
        // Before the indexer reads the later ones, and after.
        let counted = await rig.tool("index", "--prune", "--json")
        #expect(counted.exitCode == 1)
        #expect(counted.result == #"{"rows":19,"is_removed":false}"# + "\n", "\(counted.notes)")
        try await rig.index()
        #expect(try await rig.count() == 50)
        let gone = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client).first {
            $0.source.position.offset == 5
        }
        let run = await rig.tool("index", "--prune", "--yes")
        #expect(run.exitCode == 0, "\(run.notes)")
        #expect(run.result == "19 rows removed\n")
        #expect(try await rig.count() == 31)
        #expect(try await Self.hours(rig) == 31)
        let again = await rig.tool("index", "--prune", "--yes", "--json")
        #expect(again.result == #"{"rows":0,"is_removed":true}"# + "\n")

        try await expectHistory(of: #require(gone).id, rig)
    }

    /// A letter's history is answered as long as the database exists.
    private func expectHistory(of id: String, _ rig: IndexRig) async throws {
        let actions = try await DeadLetterActionTable.newest(limit: 100, on: rig.client)
        #expect(actions.count == 20)
        let shown = await rig.tool("show", id)
        #expect(shown.exitCode == 1)
        #expect(shown.result.contains("action: resolved\n    who: anna\n"), "\(shown.notes)")
        let json = await rig.tool("show", id, "--json")
        #expect(json.result.contains(#""action":"resolved""#), "\(json.result)")
        let unknown = await rig.tool("show", String(repeating: "0", count: 64))
        #expect(unknown.exitCode == 1)
        #expect(unknown.result.isEmpty)
    }

    @Test(.needsKafkaLauncher) func `a rebuild behind retention states what became of the letters before`() async throws
    {
        let rig = try await IndexRig(.real, partitions: 1)
        let transcript = ConsoleTranscript()
        let environment = [
            "KAFKA_BOOTSTRAP": rig.cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": rig.prefix,
            "KAFKA_GROUP_PREFIX": rig.cluster.name("index") + ".",
        ]
        func pipeline(_ arguments: String...) async -> Int32 {
            await PipelineTool.tool.run(arguments, environment, on: transcript)
        }
        // It finds that the rig's topic differs from the plan.
        #expect(await pipeline("topics", "--partitions", "1") == 1)
        try await rig.send(rig.letters(0..<30))
        try await rig.index()
        try await Self.removeLetters(before: 20, rig)
        let rebuilt = await rig.tool("index", "--rebuild", "--yes", environment: environment)
        #expect(rebuilt.result == "30 rows removed\n", "\(rebuilt.notes)")
        try await rig.index()
        #expect(try await rig.count() == 10)
        #expect(await pipeline("reconcile") == 0)
        #expect(transcript.output.contains("20 offsets before 20: dead-letter index --rebuild"), "\(transcript.output)")
    }

    @Test func `another topic than the indexed one says nothing about its rows`() async throws {
        let rig = try await IndexRig(partitions: 1)
        try await rig.send(rig.letters(0..<5))
        try await rig.index()
        for change in ["topic = 'other'", "topic = '\(rig.topic.name)', next_offset = 1000"] {
            _ = try await rig.client.query("UPDATE dead_letter_progress SET \(change)")
            for options in [[], ["--yes"]] {
                let run = await ToolRun(
                    ["index", "--prune"] + options + ["--kafka", rig.cluster.bootstrapServers, "--prefix", rig.prefix],
                    environment: ["DATABASE_URL": rig.options.connectionString])
                #expect(run.exitCode == 78, "\(change): \(run.notes)")
            }
        }
        #expect(try await rig.count() == 5)
    }

    @Test func `options of another mode of the command are refused`() async throws {
        for options in [
            ["--prune", "--rebuild"], ["--prune", "--until-end"], ["--yes"], ["--connect"], ["--until-end", "--yes"],
        ] {
            let run = await ToolRun(["index"] + options, environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/none"])
            #expect(run.exitCode == 64, "\(options): \(run.notes)")
        }
    }
}
