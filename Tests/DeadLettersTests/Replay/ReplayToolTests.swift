import AppStore
import Kafka
import Postgres
import Records
import Commands
import Settings
import Store
import TestSupport
import Testing

@testable import DeadLetters

/// The commands of an engineer at night.
@Suite(.timeLimit(.minutes(10))) struct ReplayToolTests {
    static func run(_ rig: ReplayRig, _ arguments: String...) async -> ToolRun { await run(rig, arguments, [:]) }

    private static func run(
        _ rig: ReplayRig, _ arguments: [String], _ settings: [String: String], isInteractive: Bool = false
    ) async -> ToolRun {
        let own = [
            "KAFKA_BOOTSTRAP": rig.cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": rig.names.topicPrefix,
            "KAFKA_GROUP_PREFIX": rig.names.groupPrefix, "DATABASE_URL": rig.database.connectionString, "USER": "kim",
        ]
        return await ToolRun(arguments, environment: own.merging(settings) { $1 }, isInteractive: isInteractive)
    }

    @Test func `a limit that is given when a replay is continued leaves the others`() throws {
        var recorded = ReplayLimits()
        recorded.rate = 10
        recorded.failingShareMax = 0.5
        let arguments = try ReplayCommand.syntax.parse(["--continue", "5", "--wait-max", "30m"])
        let limits = try ReplayOptions.limits(arguments, over: recorded)
        #expect(limits.rate == 10)
        #expect(limits.failingShareMax == 0.5)
        #expect(limits.waitMax == .seconds(1800))
    }

    @Test func `a dry run sends and writes nothing, and shows what it would send`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(3))
        let dry = await Self.run(rig, "replay", "--reason", "bundle_mismatch")
        #expect(dry.exitCode == ExitCode.success, "\(dry.notes)")
        #expect(dry.result.contains("filter: reason bundle_mismatch\n") && dry.result.contains("letters: 3\n"))
        #expect(dry.result.contains("no apps are configured here"))
        #expect(dry.notes.contains("nothing is sent yet"))
        let shown = await Self.run(rig, ["replay", "--all"], [:], isInteractive: true)
        #expect(shown.notes.contains("verifying: 3 of 3 dead letters"), "\(shown.notes)")
        let json = await Self.run(rig, "replay", "--all", "--json")
        #expect(json.result.contains(#""left_out":{}"#) && json.result.contains(#""letters":3"#))
        #expect(try await rig.replays.newest(limit: 10).isEmpty)
        #expect(try await rig.records(of: rig.rawTopic).count == 3)
        let none = await Self.run(rig, "replay", "--reason", "signature_invalid")
        #expect(none.exitCode == ExitCode.negative)
        #expect(!none.result.contains("not indexed"))
        _ = await rig.producer.send([ProducerRecord(topic: rig.letterTopic, partition: 0, value: Array("new".utf8))])
        let late = await Self.run(rig, "replay", "--all")
        #expect(late.result.contains(", 1 letter not read yet"))
        try await rig.add([rig.letter(ofGone: 0)])
        let gone = await Self.run(rig, ["replay", "--all"], [:], isInteractive: true)
        #expect(gone.notes.contains(/reading the chains: \d+ of 5 records/), "\(gone.notes)")
        await rig.close()
    }

    @Test func `sent letters are listed with who and why, and are not sent again by mistake`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(30))
        try await ReplayStage.running(rig) { stage in
            let sent = await Self.run(rig, "replay", "--all", "--send", "--why", "bundle ID mended")
            #expect(sent.exitCode == ExitCode.success, "\(sent.notes)")
            #expect(sent.result.contains("30 of 30 sent, 30 accepted, 0 refused again"))
            let again = await Self.run(rig, "replay", "--all", "--send", "--why", "by mistake")
            #expect(again.exitCode == ExitCode.negative)
            #expect(again.result.contains("left out: 30"))
            #expect(stage.read.count == 30)
        }
        let list = await Self.run(rig, "replays")
        #expect(list.result.contains("kim") && list.result.contains("bundle ID mended"))
        _ = await Self.run(rig, "replays", "--json")
        let one = await Self.run(rig, "replays", "1", "--json", "--outcome", "accepted")
        #expect(one.result.contains(#""state":"completed""#))
        #expect(one.result.contains(#""outcome":"accepted""#))
        let unknown = await Self.run(rig, "replays", "99")
        #expect(unknown.exitCode == ExitCode.negative)
        await rig.close()
    }

    @Test(arguments: [
        ["replay"], ["replay", "--all", "--send"], ["replay", "--all", "--reason", "x5c_missing"],
        ["replay", "--all", "--rate", "0"], ["replay", "--all", "--failing-share-max", "2"],
        ["replay", "--all", "--include-resolved"], ["replays", "one"], ["replay", "--abandon", "1"],
        ["replay", "--continue=7", "--first=20"], ["replay", "--continue=7", "--all"],
        ["replay", "--continue=7", "--again"], ["replay", "--continue=7", "--include-resolved"],
        ["replay", "--continue=7", "0123abcd"], ["replay", "--continue=7", "--reason=x5c_missing"],
        ["replay", "--continue=7", "--since=1h"], ["replay", "--abandon=3", "--continue=4", "--why=x"],
        ["replay", "--abandon=3", "--stage=verify", "--why=x"],
    ]) func `an incomplete command line is refused before any question`(arguments: [String]) async {
        let run = await ToolRun(
            arguments, environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/none", "USER": "kim"])
        #expect(run.exitCode == ExitCode.usage, "\(run.notes)")
    }

    @Test func `a trial sends the first few, and a later run continues after them`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(40))
        try await ReplayStage.running(rig) { stage in
            let few = await Self.run(rig, "replay", "--all", "--first", "3", "--send", "--why", "x")
            #expect(few.exitCode == ExitCode.success, "\(few.notes)")
            #expect(few.result.contains("3 of 3 sent, 3 accepted"), "\(few.result)")
            #expect(stage.read.count == 3)
            let rest = await Self.run(rig, "replay", "--all", "--send", "--why", "x")
            #expect(rest.result.contains("37 of 37 sent, 37 accepted"), "\(rest.result)")
            #expect(Set(stage.read.map(\.value)).count == 40)
        }
        // `--limit` of other commands does not limit what is sent.
        #expect(await Self.run(rig, "replay", "--all", "--limit", "3").exitCode == ExitCode.usage)
        await rig.close()
    }

    @Test func `if today's verifier refuses all letters, they are sent only after a confirmation`() async throws {
        let rig = try await ReplayRig()
        try await rig.refuse(rig.bodies(2))
        // None of these bodies is from this app.
        let settings = ["APPS": #"[{"bundle_id":"com.example","environment":"Sandbox"}]"#]
        let send = ["replay", "--all", "--send", "--why", "x", "--wait-max", "1s"]
        let asked = await Self.run(rig, send, settings)
        #expect(asked.exitCode == ExitCode.negative, "\(asked.notes)")
        #expect(asked.notes.contains("add --yes"), "\(asked.notes)")
        #expect(try await rig.replays.newest(limit: 1).isEmpty)
        _ = await Self.run(rig, send + ["--yes"], settings)
        #expect(try await rig.replays.newest(limit: 1).first?.counts.sent == 2)
        await rig.close()
    }

    @Test func `without a database it names what is missing`() async {
        let run = await ToolRun(["replay", "--all"], environment: ["USER": "kim"])
        #expect(run.exitCode == ExitCode.configuration)
        #expect(run.notes.contains("DATABASE_URL"))
    }
}
