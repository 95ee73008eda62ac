import Commands
import Foundation
import Kafka
import KitWrappers
import Postgres
import Records
import TestSupport
import Testing
import Topology

@testable import Operations

@Suite struct StatusCommandTests {
    /// A cluster with three bodies that nobody has read.
    private func cluster() async throws -> MockCluster {
        let cluster = try MockCluster()
        for plan in TopicLayout().plans { try cluster.createTopic(plan.name, partitions: 2) }
        let client = ["bootstrap.servers": cluster.bootstrapServers]
        let producer = try KafkaProducer(configuration: client)
        let records = (0..<3).map { ProducerRecord(topic: "storekit.raw", partition: 0, value: [$0]) }
        #expect(await producer.send(records).isComplete)
        await producer.close(deadline: .seconds(5))
        return cluster
    }

    private func status(_ bootstrap: String, _ console: Console, _ arguments: String...) async -> Int32 {
        await PipelineTool.tool.run(
            ["status"] + arguments, in: CommandContext(console: console, environment: ["KAFKA_BOOTSTRAP": bootstrap]))
    }

    @Test func `on a terminal each report takes the place of the one before`() async throws {
        let cluster = try await cluster()
        let transcript = ConsoleTranscript()
        let console = transcript.console(isOutputTerminal: true, columns: 60, rows: 6)
        let code = await status(cluster.bootstrapServers, console, "--watch", "--interval=100ms", "--count=2")
        #expect(code == 0)
        // The empty one that clears the terminal, and two reports.
        let frames = transcript.output.components(separatedBy: "\u{1B}[H").dropFirst()
        #expect(frames.count == 3)
        for frame in frames.dropFirst() {
            let lines = frame.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 6, "five lines, and the end of the last one")
            #expect(lines.dropLast().allSatisfy { $0.hasSuffix("\u{1B}[K") })
            #expect(lines.allSatisfy { $0.count <= 59 + 3 })
            #expect(lines.last == "\u{1B}[J")
            #expect(frame.contains(#/verify +(- +)?0 +3 /#), "the least important columns go")
            #expect(!frame.contains("what became"))
        }
        cluster.stop()
    }

    @Test func `without a terminal a watch writes lines with their time, and waits for a broker`() async throws {
        let cluster = try await cluster()
        let transcript = ConsoleTranscript()
        let code = await status(
            cluster.bootstrapServers, transcript.console(), "--watch", "--interval=100ms", "--count=2")
        #expect(code == 0)
        let time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/
        let lines = transcript.output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.prefixMatch(of: time) != nil })
        #expect(!transcript.output.contains("\u{1B}"))
        #expect(lines.first?.contains(/verify: 0 settled, 3 waiting for \d+ (ms|s)/) == true)
        #expect(lines.contains { $0.contains(/verify: 0 settled, 0 per second, 3 waiting for/) })
        #expect(lines.count { $0.hasSuffix("dead letters: 0 counted, 0 held") } == 2)
        cluster.stop()
    }

    @Test func `a watch asks again where the brokers stop answering between two reports`() async throws {
        let cluster = try await cluster()
        let transcript = ConsoleTranscript()
        async let code = status(
            cluster.bootstrapServers, transcript.console(), "--watch", "--interval=100ms", "--count=5")
        await eventually("the first report has to be shown") { transcript.output.contains("dead letters: 0 counted") }
        try cluster.fail(.listOffsets, with: Array(repeating: .requestTimedOut, count: 100))
        await eventually("the watch has to ask again") {
            transcript.notes.contains("Kafka does not answer, asking again: ")
        }
        try cluster.clearFailures(.listOffsets)
        #expect(await code == 0)
        #expect(transcript.output.matches(of: /letters: 0/).count >= 2)
        try cluster.fail(.listOffsets, with: Array(repeating: .requestTimedOut, count: 100))
        let once = ConsoleTranscript()
        #expect(await status(cluster.bootstrapServers, once.console()) == 69)
        #expect(once.notes.contains("no answer from Kafka at \(cluster.bootstrapServers)"))
        cluster.stop()
    }

    @Test func `status takes the number of skipped offsets that are dealt with`() async throws {
        let cluster = try await cluster()
        let consumer = try KafkaConsumer(configuration: [
            "bootstrap.servers": cluster.bootstrapServers, "group.id": "entitlements.verify",
        ])
        let tally = StageTally(began: 0, counts: [.skipped: 2], forwarded: 0)
        let commit = OffsetCommit(offset: 2, metadata: CommitMetadata(tally: tally).text)
        let partition = TopicPartition(topic: "storekit.raw", partition: 0)
        await eventually("the broker has to take the commit") {
            await consumer.commit([partition: commit], deadline: .seconds(5)).failures.isEmpty
        }
        await consumer.close(deadline: .seconds(5))
        let problem = "does not add up: verify: 2 offsets of storekit.raw held no record"
        for (skippedMax, isProblem, code) in [("1", true, Int32(1)), ("2", false, 0)] {
            let transcript = ConsoleTranscript()
            let option = "--skipped-max=\(skippedMax)"
            #expect(
                await status(cluster.bootstrapServers, transcript.console(), option) == code, "\(transcript.output)")
            #expect(transcript.output.contains("2 skipped"), "\(transcript.output)")
            #expect(transcript.output.contains(problem) == isProblem)
        }
        cluster.stop()
    }

    @Test func `an interval without a watch is refused`() async throws {
        let transcript = ConsoleTranscript()
        #expect(await status("nowhere:1", transcript.console(), "--count=2") == 64)
        #expect(transcript.notes.contains("--count needs --watch"))
    }

    @Test func `what waits is reported with its age, and what the mock does not answer once`() async throws {
        let cluster = try await cluster()
        let transcript = ConsoleTranscript()
        #expect(await status(cluster.bootstrapServers, transcript.console()) == 0)
        #expect(transcript.output.contains(/verify +storekit.raw +- +0 +3 +\d+ (ms|s)/))
        #expect(transcript.output.contains(/dedupe +storekit.verified +- +0 +0 +-\s/))
        #expect(transcript.output.matches(of: /not answered by the brokers/).count == 2)
    }

    @Test func `a wait of hours for Apple is a finding until it is lifted, a short one is not`() async throws {
        let cluster = try await cluster()
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        let now = StatusWatch.now
        for (endpoint, minutes) in [("finish", Int64(90)), ("notifications", 30)] {
            _ = try await connection.query(
                "INSERT INTO recovery_limits VALUES ('Production', 'com.example.app', $1, $2)",
                [.text(endpoint), .int8(now + minutes * 60_000)])
        }
        let environment = ["KAFKA_BOOTSTRAP": cluster.bootstrapServers, "DATABASE_URL": options.connectionString]
        let transcript = ConsoleTranscript()
        let context = CommandContext(console: transcript.console(), environment: environment)
        #expect(await PipelineTool.tool.run(["status"], in: context) == 1)
        let waits = transcript.output.matches(of: /Apple is not asked about com.example.app in Production \((\w+)\)/)
        #expect(waits.map { $0.1 } == ["finish"], "\(transcript.output)")
        let lift = ["recover", "apple", "--lift"]
        #expect(await PipelineTool.tool.run(lift, in: context) == 0)
        #expect(await PipelineTool.tool.run(["status"], in: context) == 0)
        #expect(await PipelineTool.tool.run(lift, in: context) == 1, "nothing is left")
        await connection.close()
        cluster.stop()
    }

    @Test func `account tokens are counted by result, and not mentioned without any`() async throws {
        let cluster = try await cluster()
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        let environment = ["KAFKA_BOOTSTRAP": cluster.bootstrapServers, "DATABASE_URL": options.connectionString]
        for (line, member) in [
            (nil, "{}"), ("account tokens for Apple: 2 done, 1 waiting", #"{"done":2,"waiting":1}"#),
        ] {
            if line != nil {
                _ = try await connection.query(
                    """
                    INSERT INTO recovery_requests (environment, bundle_id, kind, subject, user_id, result)
                    VALUES ('Production', 'a', 'account_token', '1', 'anna', 'done'),
                           ('Production', 'a', 'account_token', '2', 'anna', 'done'),
                           ('Production', 'a', 'account_token', '3', 'anna', NULL),
                           ('Production', 'a', 'finish', '4', NULL, 'done')
                    """)
            }
            for arguments in [["status"], ["status", "--json"]] {
                let transcript = ConsoleTranscript()
                let context = CommandContext(console: transcript.console(), environment: environment)
                #expect(await PipelineTool.tool.run(arguments, in: context) == 0)
                let text = arguments.count > 1 ? #""account_tokens":\#(member)"# : line ?? "account tokens"
                #expect(
                    transcript.output.contains(text) == (arguments.count > 1 || line != nil), "\(transcript.output)")
            }
        }
        await connection.close()
        cluster.stop()
    }

    @Test func `the delay of events of time is shown with a database`() async throws {
        let cluster = try await cluster()
        let options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        let environment = ["KAFKA_BOOTSTRAP": cluster.bootstrapServers, "DATABASE_URL": options.connectionString]
        let line = "begins and ends of periods that wait for their event: "
        for (due, text, member) in [(nil, "none", "0[.0]*"), ("40 min", "the oldest for 40 min", "24[.0-9]+")] {
            if let due {
                _ = try await connection.query("SELECT grant_entitlement('anna', 'pro', NULL, 'why', 'who')")
                _ = try await connection.query("UPDATE grants SET next_boundary = now() - interval '\(due)'")
            }
            let transcript = ConsoleTranscript()
            let context = CommandContext(console: transcript.console(), environment: environment)
            #expect(await PipelineTool.tool.run(["status"], in: context) == 0)
            #expect(transcript.output.contains(line + text), "\(transcript.output)")
            let json = ConsoleTranscript()
            let asked = CommandContext(console: json.console(), environment: environment)
            #expect(await PipelineTool.tool.run(["status", "--json"], in: asked) == 0)
            PublishedSchema.expect("pipeline", ["status", "--json"], json.output.utf8)
            #expect(json.output.contains(try Regex(#""boundary_delay_seconds":\#(member)\}"#)), "\(json.output)")
        }
        await connection.close()
        cluster.stop()
    }

    @Test(.needsRealKafka) func `members of each group are listed with what waits for them, and a group without any`()
        async throws
    {
        let cluster = try await KafkaCluster(.real)
        let prefix = cluster.name("s") + "."
        let admin = try KafkaAdmin(configuration: cluster.client)
        let layout = TopicLayout(prefix: prefix, partitions: 2)
        _ = try await TopicDeployment(admin, layout).run(isAltering: false)
        await admin.close()
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = (0..<3).map { ProducerRecord(topic: prefix + "raw", partition: 0, value: [$0]) }
        #expect(await producer.send(records).isComplete)
        await producer.close(deadline: .seconds(5))
        let member = try KafkaConsumer(
            configuration: cluster.client.merging(["group.id": prefix + "verify", "client.id": "verify-place-1"]) { $1 }
        )
        try await member.subscribe([prefix + "raw"])
        let polling = Task {
            while !Task.isCancelled {
                let result = try await member.poll(recordsMax: 1, bytesMax: 1_000, wait: .milliseconds(50))
                for case .assigned(let partitions) in result.events {
                    let starts = partitions.map { ($0, Int64?.none) }
                    try await member.assign(with: Dictionary(uniqueKeysWithValues: starts))
                }
            }
        }
        let environment = [
            "KAFKA_BOOTSTRAP": cluster.bootstrapServers, "KAFKA_TOPIC_PREFIX": prefix, "KAFKA_GROUP_PREFIX": prefix,
        ]
        func status(_ arguments: String...) async -> String {
            let transcript = ConsoleTranscript()
            let context = CommandContext(console: transcript.console(), environment: environment)
            #expect(await PipelineTool.tool.run(["status"] + arguments, in: context) == 0)
            return transcript.output
        }
        var text = ""
        await eventually("the member has to have its partitions") {
            text = await status()
            return text.contains(/verify-place-1 +verify +\S+ +2 +3\n/)
        }
        #expect(text.contains(/verify +\S+raw +1 +0 +3/), "\(text)")
        #expect(text.contains(/dedupe +\S+verified +0 +0 +0/), "\(text)")
        let idle = "\(prefix)dedupe has no members: no dedupe-worker reads \(prefix)verified"
        #expect(text.contains(idle), "\(text)")
        let json = await status("--json")
        PublishedSchema.expect("pipeline", ["status", "--json"], json.utf8)
        #expect(json.contains(#""partitions":[0,1],"waiting":3}]"#), "\(json)")
        #expect(json.contains(#""members":[]"#))
        polling.cancel()
        _ = await polling.result
        await member.close(deadline: .seconds(10))
    }

    private static func report(waiting: Int64, at now: Int64) -> StatusReport {
        let standing = PartitionAccount.Standing.counted(
            committed: 5_000, tally: StageTally(began: 0, counts: [.forwarded: 5_000], forwarded: 5_000))
        let partition = PartitionAccount(partition: 0, held: 0..<(5_000 + waiting), standing: standing)
        let stage = StageAccount(stage: .verify, group: "g", topic: "t.raw", partitions: [partition])
        return StatusReport(
            reconciliation: Reconciliation(stages: [stage], flows: []), members: [:], oldestWaiting: [:],
            deadLettersHeld: 0, differences: [], topicsUnanswered: nil, membersUnanswered: nil, now: now)
    }

    @Test(arguments: [
        (Int64(600), Int64(500), "10 s"), (600, 597, "6 min 38 s"), (600, 600, "-"), (600, 700, "-"), (600, 0, "-"),
    ]) func `the time to drain follows from how much less has waited`(before: Int64, waiting: Int64, drain: String)
        throws
    {
        let former = Self.report(waiting: before, at: 1_000)
        let report = Self.report(waiting: waiting, at: 3_000)
        let lines = report.parts(since: former).lines
        let column = try #require(lines[0].firstRange(of: "drained in")).lowerBound
        let shown = lines[1].dropFirst(lines[0].distance(from: lines[0].startIndex, to: column))
        #expect(shown.hasPrefix(drain + "  "), "\(lines)")
        let plain = report.plainLines(since: former)[0]
        #expect(plain.hasSuffix("drained in \(drain)") == (drain != "-"), "\(plain)")
    }
}
