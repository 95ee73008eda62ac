import AppStore
import Commands
import DeadLetters
import Foundation
import JSON
import Kafka
import KitWrappers
import OpenSSL
import Records
import Settings
import TestSupport
import Testing

@Suite struct DeadLetterToolTests {
    /// Two forged bodies, one of them dead-lettered twice, a misrouted one and a foreign record.
    private static let token = "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl"

    private static func records() throws -> [ProducerRecord] {
        let verify = DeadLetterWriter(Sample.context())
        let dedupe = DeadLetterWriter(Sample.context(stage: "dedupe"))
        let value = Array(token.utf8)
        let conflict = Refusal(reason: .transactionConflict, detail: "product differs")
        return [
            verify.letter(for: Sample.original(offset: 1, value: value), Sample.refusal, value: .original),
            verify.letter(
                for: Sample.original(offset: 1, value: value), Refusal(reason: .bundleMismatch, detail: "unknown app"),
                value: .original),
            verify.letter(for: Sample.original(offset: 2, value: [0, 1, 2, 0x1B]), Sample.refusal, value: .original),
            verify.letter(for: Sample.original(offset: 4, value: nil), Sample.refusal, value: .omitted),
            dedupe.letter(
                for: Sample.original(
                    offset: 3, value: try Sample.observation().value,
                    headers: try Sample.observation().headers + [
                        KafkaHeader(name: "correlation-id", text: "c-1\u{1B}[2J")
                    ]), conflict, value: .original), ProducerRecord(topic: "storekit.dead-letter", value: value),
        ]
    }

    private static func milliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// Runs the tool against a topic that holds `records()`.
    private static func run(_ commandLines: [[String]], isOutputTerminal: Bool = false) async throws -> [ToolRun] {
        let cluster = try MockCluster()
        defer { cluster.stop() }
        try cluster.createTopic("storekit.dead-letter", partitions: 3)
        let producer = try KafkaProducer(configuration: ["bootstrap.servers": cluster.bootstrapServers])
        for record in try records() {
            let report = await producer.send([record])
            try #require(report.failures.isEmpty)
            // The newest differs by a millisecond.
            let written = milliseconds()
            await eventually { milliseconds() > written }
        }
        await producer.close(deadline: .seconds(10))
        var runs: [ToolRun] = []
        for commandLine in commandLines {
            runs.append(
                await ToolRun(commandLine + ["--kafka", cluster.bootstrapServers], isOutputTerminal: isOutputTerminal))
        }
        return runs
    }

    @Test func `tail shows each letter once, the newest last, and no token`() async throws {
        let runs = try await Self.run([["tail"], ["tail", "--json"], ["tail", "--limit=1"]])
        let lines = runs[0].result.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[3].contains("storekit.raw/3/3"))
        #expect(lines[3].contains("com.example"))
        #expect(lines[0].contains("storekit.raw/3/1 "))
        #expect(lines[0].contains("signature_invalid"))
        #expect(runs[0].exitCode == 0)
        #expect(runs[0].notes.contains("6 records read, 1 repetitions folded, 1 records that are"))
        for run in runs { #expect(!(run.result + run.notes).contains(Self.token)) }
        let last = try #require(runs[1].result.split(separator: "\n").last)
        let json = try JSONDocument(parsing: Array(last.utf8)).root
        #expect(json["reason"]?.string == "transaction_conflict")
        #expect(json["unverified"]?["transaction_id"]?.string == "7")
        #expect(runs[1].result.split(separator: "\n").count == 4)
        #expect(runs[2].result.split(separator: "\n").count == 1)
    }

    @Test func `tail filters by the letters' facts`() async throws {
        let counts: [([String], Int)] = [
            (["--reason=signature_invalid"], 3), (["--reason", "bundle_mismatch"], 0), (["--class=conflict"], 1),
            (["--transaction=5"], 1), (["--bundle=com.example"], 1), (["--bundle=com.other"], 0), (["--since=1h"], 4),
            (["--until=1h"], 0), (["--since=2026-01-01", "--reason=signature_invalid", "-n1"], 1),
        ]
        let runs = try await Self.run(counts.map { ["tail", "--json"] + $0.0 })
        for (run, (arguments, count)) in zip(runs, counts) {
            #expect(run.exitCode == ExitCode.found(count))
            #expect(run.result.split(separator: "\n").count == count, "\(arguments)")
        }
    }

    @Test func `show finds a letter by ID, by its beginning and by either position`() async throws {
        let id = DeadLetterID.make(
            cluster: "cluster-1", source: RecordPosition(topic: "storekit.raw", partition: 3, offset: 1),
            timestamp: Sample.original().timestampMilliseconds, sha256: SHA256.digest(Array(Self.token.utf8)))
        let runs = try await Self.run([
            ["show", id], ["show", String(id.prefix(8)).uppercased()], ["show", "storekit.raw/3/1"],
            ["show", "storekit.raw/6/99"], ["show", "storekit.raw/3/77"], ["show", "ffff"], ["show"],
            ["show", id, "--reveal", "--why=case 7"],
        ])
        #expect(runs[7].result.contains(Self.token))
        for run in runs[0...2] {
            #expect(run.exitCode == 0)
            #expect(run.result.contains("id: \(id)\n"))
            #expect(run.result.contains("reason: signature_invalid\n") && run.result.contains("class: forged\n"))
            #expect(!run.result.contains(Self.token))
            #expect(run.result.contains("<37 bytes hidden>"))
            #expect(run.result.contains("Decoded, unverified: body\nheader {\n"))
            #expect(run.result.contains(#""alg": "ES256""#))
            #expect(run.result.contains("payload {}"))
            #expect(run.result.contains("leaf"))
            #expect(run.notes.contains("--reveal"))
        }
        #expect(runs[3].result.contains("transaction id: 7"))
        #expect(runs[4].exitCode == 1)
        #expect(runs[5].exitCode == 64)
        #expect(runs[6].exitCode == 64)
    }

    @Test func `show keeps a terminal safe and distinguishes null, omitted and binary`() async throws {
        let runs = try await Self.run([
            ["show", "storekit.raw/3/2", "--reveal", "--why=case 7"], ["show", "storekit.raw/3/4"],
            ["show", "storekit.raw/3/3"], ["show", "storekit.raw/3/2", "--json", "--reveal", "--why=case 7"],
        ])
        #expect(runs[0].result.contains("value (4 bytes, hex)\n00 01 02 1b\n"))
        #expect(runs[0].result.contains("key (2 bytes, hex)\n00 ff\n"))
        #expect(runs[1].result.contains("value (left out for its size)"))
        #expect(runs[2].result.contains(#"correlation-id: "#))
        for run in runs { #expect(!run.result.contains("\u{1B}")) }
        let json = try JSONDocument(parsing: Array(runs[3].result.utf8.dropLast())).root
        #expect(json["original"]?["value_base64"]?.string == "AAECGw==")
        #expect(json["chain"]?["leaf"]?["sha256"]?.string?.count == 64)
        #expect(json["shown"]?["value"]?["note"]?.string == "4 bytes, hex")
    }

    @Test func `show writes the original alone, byte for byte, on request`() async throws {
        let runs = try await Self.run([
            ["show", "storekit.raw/3/2", "--original", "--why=case 7"],
            ["show", "storekit.raw/3/1", "--original", "--why=case 7"],
            ["show", "storekit.raw/3/4", "--original", "--why=case 7"],
            ["show", "storekit.raw/3/77", "--original", "--why=case 7"],
        ])
        #expect(runs[0].exitCode == 0 && runs[0].bytes == [0, 1, 2, 0x1B])
        #expect(runs[1].exitCode == 0 && runs[1].bytes == Array(Self.token.utf8))
        #expect(runs[0].notes == "not recorded: no database is configured\n")
        #expect(runs[2].exitCode == 1 && runs[2].bytes.isEmpty)
        #expect(runs[2].notes.contains("it lies in storekit.raw/3/4"))
        #expect(runs[3].exitCode == 1 && runs[3].bytes.isEmpty)
    }

    @Test func `a terminal gets the original only with the option`() async throws {
        let show = ["show", "storekit.raw/3/2", "--original", "--why=case 7"]
        let runs = try await Self.run([show, show + ["--force"]], isOutputTerminal: true)
        #expect(runs[0].exitCode == 1 && runs[0].bytes.isEmpty)
        #expect(runs[0].notes.contains("--force"))
        #expect(runs[1].exitCode == 0 && runs[1].bytes == [0, 1, 2, 0x1B])
    }

    @Test(
        arguments: [
            ([], 64), (["lst"], 64), (["list", "--reason=nonsense"], 64), (["list", "--since=yesterday"], 64),
            (["list", "--limit=0"], 64), (["--help"], 0), (["count", "--help"], 0),
            (["list", "--config=/nowhere"], 78), (["verify", "--offline=/nowhere"], 66), (["replay", "--sned"], 64),
        ] as [([String], Int32)]) func `wrong command lines are reported at once`(arguments: [String], exitCode: Int32)
        async
    {
        let run = await ToolRun(arguments)
        #expect(run.exitCode == exitCode)
        #expect(!(run.result + run.notes).isEmpty)
    }

    @Test func `a variable that is nearly a setting is warned about`() async {
        let run = await ToolRun(
            ["list", "--config=/nowhere"], environment: ["DATABASE_UR": "postgresql://x", "DATABASE_SERVICE_PORT": "1"])
        let warning = "there is no such setting, did you mean DATABASE_URL?"
        #expect(run.notes.contains("dead-letter list: DATABASE_UR (environment): \(warning)"))
        #expect(run.notes.matches(of: /did you mean/).count == 1)
    }

    @Test func `the help has a whole sentence for each command, and the exit codes`() async {
        let help = await ToolRun(["--help"]).result
        let list = help.components(separatedBy: "Commands:\n").last ?? ""
        let lines = list.components(separatedBy: "\n\n").first?.split(separator: "\n") ?? []
        let commands = lines.filter { $0.prefix(3).last != " " }
        #expect(commands.count == lines.count { $0.hasSuffix(".") } && commands.count > 15)
        #expect(help.hasSuffix(ExitCode.help))
        let run = await ToolRun(["serach"])
        #expect(run.exitCode == 64 && run.notes.contains(", did you mean search?\n"))
    }

    @Test func `a wrong librdkafka property is reported in its own words`() async {
        let run = await ToolRun(["tail"], environment: ["RDKAFKA_NO_SUCH_THING": "1"])
        #expect(run.exitCode == 78)
        #expect(run.notes.contains("no.such.thing"))
    }

    @Test(arguments: KafkaCluster.Kind.available) func `a topic is read to its end, empty partitions too`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        let name = try await cluster.topic("dead-letter", partitions: 4)
        let context = DeadLetterContext(
            cluster: "c", topic: name, stage: "verify", readsObservations: false, worker: "w", verifierVersion: "1",
            configuration: Sample.context().configuration)
        let writer = DeadLetterWriter(context)
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = (0..<2500).map { number in
            let original = Sample.original(offset: Int64(number), key: Array("\(number % 2)".utf8))
            return writer.letter(for: original, Sample.refusal, value: .original)
        }
        let report = await producer.send(records)
        await producer.close(deadline: .seconds(20))
        #expect(report.failures.isEmpty)

        let topic = DeadLetterTopic(name: name, configuration: cluster.client)
        var offsets: Set<Int64> = []
        let summary = try await topic.read { letter, _ in offsets.insert(letter.source.offset) }
        #expect(summary.records == 2500)
        #expect(summary.foreign == 0)
        #expect(offsets.count == 2500)

        var visited = 0
        let past = Timestamp(milliseconds: 1_600_000_000_000)
        _ = try await topic.read(since: past) { _, _ in visited += 1 }
        #expect(visited == 2500)
        let future = Timestamp(milliseconds: 4_000_000_000_000)
        _ = try await topic.read(since: future) { _, _ in Issue.record("visits what is too old") }
        let absent = DeadLetterTopic(name: cluster.name("absent"), configuration: cluster.client)
        await #expect(throws: DeadLetterTopicError.self) { try await absent.read { _, _ in } }
        let admin = try KafkaAdmin(configuration: cluster.client)
        let metadata = try await admin.metadata(deadline: .hopeless)
        #expect(metadata[topic: absent.name] == nil, "a question has made the topic")
        await admin.close()
    }
}
