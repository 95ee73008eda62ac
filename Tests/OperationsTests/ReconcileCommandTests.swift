import Commands
import Foundation
import Kafka
import KitWrappers
import Operations
import Records
import TestSupport
import Testing
import Topology

@Suite struct ReconcileCommandTests {
    private let transcript = ConsoleTranscript()

    private func reconcile(_ cluster: KafkaCluster, _ arguments: String..., isInteractive: Bool = false) async -> Int32
    { await run(["reconcile"], cluster, arguments, isInteractive: isInteractive) }

    private func run(
        _ command: [String], _ cluster: KafkaCluster, _ arguments: [String] = [], isInteractive: Bool = false
    ) async -> Int32 {
        let before = transcript.output.utf8.count
        defer {
            let output = transcript.output.utf8.dropFirst(before)
            PublishedSchema.expect("pipeline", command + arguments, output)
        }
        return await PipelineTool.tool.run(
            command + ["--prefix", cluster.name("r") + "."] + arguments,
            in: CommandContext(
                console: transcript.console(isInteractive: isInteractive),
                environment: [
                    "KAFKA_BOOTSTRAP": cluster.bootstrapServers, "KAFKA_GROUP_PREFIX": cluster.name("g") + ".",
                ]))
    }

    private func makeTopics(_ cluster: KafkaCluster) async throws {
        let layout = TopicLayout(prefix: cluster.name("r") + ".", partitions: 2)
        if let mock = cluster.mock {
            for plan in layout.plans { try mock.createTopic(plan.name, partitions: 2) }
        } else {
            let admin = try KafkaAdmin(configuration: cluster.client)
            _ = try await TopicDeployment(admin, layout).run(isAltering: false)
            await admin.close()
        }
    }

    /// Writes records to partition 0 of a topic.
    private func write(_ cluster: KafkaCluster, _ topic: String, count: Int) async throws {
        let producer = try KafkaProducer(configuration: cluster.client)
        let record = ProducerRecord(topic: "\(cluster.name("r")).\(topic)", partition: 0, value: [1])
        let report = await producer.send(Array(repeating: record, count: count))
        await producer.close(deadline: .seconds(10))
        #expect(report.isComplete)
    }

    /// Writes records to partition 0 of a topic, each as made of an input: of a body, and of
    /// another record where `further` says so.
    private func write(
        _ cluster: KafkaCluster, _ topic: String, madeOf inputs: String..., at time: Int64? = nil, further: String = ""
    ) async throws {
        let timestamp = time.map { #","timestamp":\#($0)"# } ?? ""
        let observations = inputs.map { input in
            let place = input.split(separator: "/")
            return """
                {"schemaVersion":1,"source":{"topic":"raw","partition":\(place[0]),\
                "offset":\(place[1])\(timestamp),"index":\(place[2]),"count":9},\
                "environment":"Production","bundleID":null,"verification":{"signedDate":4,\
                "leaf":"\(Self.digest)","root":"\(Self.digest)","trust":"apple","method":"jws",\
                "verifier":"1.0.0"}\(further),"payloads":{}}
                """
        }
        try await write(cluster, topic, observations.map { (Array($0.utf8), []) })
    }

    private static let digest = String(repeating: "ab", count: 32)

    private func write(_ cluster: KafkaCluster, _ topic: String, _ contents: [(value: [UInt8], headers: [KafkaHeader])])
        async throws
    {
        let producer = try KafkaProducer(configuration: cluster.client)
        let records = contents.map { value, headers in
            ProducerRecord(topic: "\(cluster.name("r")).\(topic)", partition: 0, value: value, headers: headers)
        }
        let report = await producer.send(records)
        await producer.close(deadline: .seconds(10))
        #expect(report.isComplete)
    }

    private func commit(_ cluster: KafkaCluster, _ stage: StageDescription, offset: Int64, _ metadata: String)
        async throws
    {
        let group = "\(cluster.name("g")).\(stage.name)"
        let configuration = cluster.client.merging(["group.id": group]) { $1 }
        let consumer = try KafkaConsumer(configuration: configuration)
        let topic = "\(cluster.name("r")).\(stage.inputTopic)"
        let commits = [TopicPartition(topic: topic, partition: 0): OffsetCommit(offset: offset, metadata: metadata)]
        // A broker that has just started refuses commits until it has loaded its groups.
        await eventually { await consumer.commit(commits, deadline: .seconds(30)).failures.isEmpty }
        await consumer.close(deadline: .seconds(10))
    }

    private func tally(_ counts: [Disposition: Int64], forwarded: Int64) -> String {
        let tally = StageTally(began: 0, counts: counts, forwarded: forwarded)
        return CommitMetadata(tally: tally).text
    }

    @Test(arguments: HostileNumber.all) func `a commit of any numbers ends in a finding, not in a crash`(number: Int64)
        async throws
    {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 4)
        let text = "v1 began=\(number) out=\(number) forwarded=\(number) ignored=\(number)"
        try await commit(cluster, .verify, offset: max(1, number), text)
        #expect(await reconcile(cluster, "--exact") == 1, "\(transcript.output)")
        #expect(transcript.output.contains("It does NOT add up"))
    }

    @Test(arguments: KafkaCluster.Kind.available)
    func `what is committed is compared with what was counted and written`(kind: KafkaCluster.Kind) async throws {
        let cluster = try await KafkaCluster(kind)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 4)
        #expect(await reconcile(cluster) == 0, "\(transcript.notes)")
        #expect(transcript.output.contains("4 wait."))

        try await write(cluster, "verified", count: 2)
        try await write(cluster, "dead-letter", count: 1)
        let good: [Disposition: Int64] = [.forwarded: 2, .ignored: 1, .deadLettered: 1]
        try await commit(cluster, .verify, offset: 4, tally(good, forwarded: 2))
        #expect(await reconcile(cluster) == 0)
        #expect(transcript.output.contains("2 forwarded + 1 ignored + 1 dead-lettered"))

        // One disposition too few, then one forwarded record that the topic never got.
        let short: [Disposition: Int64] = [.forwarded: 2, .deadLettered: 1]
        try await commit(cluster, .verify, offset: 4, tally(short, forwarded: 2))
        #expect(await reconcile(cluster) == 1)
        #expect(transcript.output.contains("raw[0]: 1 settled record without a disposition"))

        try await commit(cluster, .verify, offset: 4, tally(good, forwarded: 3))
        #expect(await reconcile(cluster, "--json") == 1)
        #expect(transcript.output.contains("counted 3 records written, but it was given 2"))

        try await commit(cluster, .verify, offset: 4, "")
        #expect(await reconcile(cluster) == 1)
        #expect(transcript.output.contains("offset 4 is committed without a tally of this cluster"))
    }

    @Test(arguments: KafkaCluster.Kind.available)
    func `a loss behind repetitions after a crash is found by the exact count`(kind: KafkaCluster.Kind) async throws {
        let cluster = try await KafkaCluster(kind)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 4)
        // One of four outputs is lost, two are written twice, and one belongs to the next records.
        try await write(cluster, "verified", madeOf: "0/0/0", "0/0/1", "0/2/0")
        try await write(cluster, "verified", madeOf: "0/0/0", "0/0/1", "0/4/0")
        let counts: [Disposition: Int64] = [.forwarded: 3, .ignored: 1]
        try await commit(cluster, .verify, offset: 4, tally(counts, forwarded: 4))
        #expect(await reconcile(cluster) == 0)
        #expect(transcript.output.contains("2 beyond: written again after a restart"))
        #expect(transcript.output.contains("--exact finds losses among them"))
        #expect(await reconcile(cluster, "--exact") == 1)
        #expect(
            transcript.output.contains(
                "verify counted 4 records written for \(cluster.name("r")).raw[0], and 3 are " + "there: 1 lost"))
        try await write(cluster, "verified", madeOf: "0/1/0")
        #expect(await reconcile(cluster, "--exact", "--json", isInteractive: true) == 0)
        #expect(
            transcript.notes.contains(/\r\x{1B}\[Kcounting r-\S+\.verified: \d+ of \d+ records/), "\(transcript.notes)")
        #expect(
            transcript.output.contains(
                #""exact":[{"writer":"verify","distinct":4,"repeated":2,"beyond":0,"# + #""former":0,"removed":0}]"#))
    }

    @Test func `an observation that was made of another counts for that one`() async throws {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, "verified", count: 3)
        for offset in [0, 1, 1] {
            let further = #","input":{"partition":0,"offset":\#(offset)}"#
            try await write(cluster, "unique", madeOf: "0/0/0", further: further)
        }
        try await write(cluster, "unique", count: 1)
        try await commit(cluster, .dedupe, offset: 3, tally([.forwarded: 3], forwarded: 3))
        #expect(await reconcile(cluster) == 0, "\(transcript.notes)")
        #expect(await reconcile(cluster, "--exact") == 1)
        #expect(
            transcript.output.contains(
                "dedupe counted 3 records written for \(cluster.name("r")).verified[0], and 2 are " + "there: 1 lost"))
        // A record that this program cannot read could be the lost one.
        let later = Array(#"{"schemaVersion":2,"payloads":{}}"#.utf8)
        try await write(cluster, "unique", [(later, [])])
        #expect(await reconcile(cluster, "--exact") == 65)
        #expect(transcript.notes.contains("reconcile with the newest one"), "\(transcript.notes)")
    }

    @Test(arguments: KafkaCluster.Kind.available) func `dead letters are counted once by the record that was refused`(
        kind: KafkaCluster.Kind
    ) async throws {
        let cluster = try await KafkaCluster(kind)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 2)
        let raw = "\(cluster.name("r")).raw"
        func letter(_ topic: String, _ offset: Int) -> [KafkaHeader] {
            [
                KafkaHeader(name: "dlq.stage", text: "verify"), KafkaHeader(name: "dlq.source.topic", text: topic),
                KafkaHeader(name: "dlq.source.partition", text: "0"),
                KafkaHeader(name: "dlq.source.offset", text: String(offset)),
            ]
        }
        try await commit(cluster, .verify, offset: 2, tally([.deadLettered: 2], forwarded: 0))
        // The second is lost, the first repeated, and one is of another topic.
        let letters = [letter(raw, 0), letter(raw, 0), letter("former.raw", 1)]
        try await write(cluster, "dead-letter", letters.map { ([1], $0) })
        #expect(await reconcile(cluster) == 0)
        #expect(await reconcile(cluster, "--exact") == 1)
        #expect(transcript.output.contains("verify counted 2 records written for \(raw)[0], and 1 are there: 1 lost"))
        try await write(cluster, "dead-letter", [([1], letter(raw, 1))])
        #expect(await reconcile(cluster, "--exact") == 0)
        #expect(transcript.output.contains("from verify: 2 distinct, 1 written again"))
    }

    @Test func `the result is written for the textfile collector, as a whole`() async throws {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 1)
        let folder = FileManager.default.temporaryDirectory.appending(path: cluster.name("m"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "reconcile.prom").path
        func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

        #expect(await reconcile(cluster, "--metrics", path) == 0, "\(transcript.notes)")
        #expect(try text().contains("\nentitlements_reconcile_problems 0\n"))
        #expect(try text().contains(/\nentitlements_reconcile_timestamp_seconds \d{10}\n/))
        try await commit(cluster, .verify, offset: 1, tally([:], forwarded: 0))
        #expect(await reconcile(cluster, "--metrics", path) == 1)
        #expect(try text().contains("\nentitlements_reconcile_problems 1\n"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)

        #expect(await reconcile(cluster, "--metrics", folder.path) == 64)
        #expect(await reconcile(cluster, "--metrics", "/nowhere/a.prom") == 66)
    }

    @Test(arguments: [(StageDescription.verify, "ignored"), (.deadLetterIndex, "foreign")])
    func `offsets before an account are a finding until a person has stated their fate`(
        stage: StageDescription, word: String
    ) async throws {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, stage.inputTopic, count: 4)
        try await commit(cluster, stage, offset: 3, "v1 began=2 out=0 \(word)=1 accepted=ab")
        #expect(await reconcile(cluster) == 1)
        let finding =
            "\(stage.inputTopic)[0]: the counts begin at offset 2, so what became of 2 offsets before it is not "
            + "known; the topic still holds them from offset 0"
        #expect(transcript.output.contains(finding), "\(transcript.output)")
        #expect(await reconcile(cluster, "--exact", "--json") == 1)
        #expect(await run(["status"], cluster) == 1)
        #expect(transcript.output.matches(of: /the counts begin at offset 2/).count == 3)

        let state = ["account", "state"]
        let who = ["--by", "eva", "--reason", "read by the old cluster's workers"]
        #expect(await run(state, cluster, ["--stage", stage.name] + who.prefix(2)) == 64)
        #expect(await run(state, cluster, ["--stage", "dedupe"] + who) == 1)
        #expect(await run(state, cluster, ["--stage", stage.name, "--json"] + who) == 0)
        #expect(await reconcile(cluster, "--exact") == 0, "\(transcript.output)")
        #expect(
            transcript.output.contains(/\[0\]: 2 offsets before 2: eva, .*: read by the old cluster's workers/),
            "\(transcript.output)")
        #expect(await run(["status"], cluster) == 0)
        #expect(await run(state, cluster, ["--stage", stage.name] + who) == 1, "nothing is left")
        // A new account needs a new statement.
        try await commit(cluster, stage, offset: 3, "")
        #expect(await run(["status"], cluster, ["--json"]) == 1)
        #expect(await run(state, cluster, ["--stage", stage.name] + who) == 0)
        #expect(await reconcile(cluster, "--json") == 0)
        #expect(transcript.output.contains(#""began":3,"stated":{"at":""#))
    }

    @Test func `partitions that never held a record are not listed`() async throws {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 1)
        #expect(await reconcile(cluster) == 0)
        #expect(transcript.output.contains("partition 0"))
        #expect(!transcript.output.contains("partition 1"))
    }

    @Test func `a commit beyond the end of a recreated topic is a finding`() async throws {
        let cluster = try await KafkaCluster(.mock)
        try await makeTopics(cluster)
        try await write(cluster, "raw", count: 1)
        try await commit(cluster, .verify, offset: 5, tally([.ignored: 5], forwarded: 0))
        #expect(await reconcile(cluster) == 1)
        #expect(transcript.output.contains("raw[0]: offset 5 is committed, but the topic ends at"))
    }

    @Test(.needsRealKafka) func `observations of a former raw topic are neither repetitions nor a proof`() async throws
    {
        let cluster = try await KafkaCluster(.real)
        try await makeTopics(cluster)
        // A deleted topic had the same offsets and earlier timestamps.
        try await write(cluster, "verified", madeOf: "0/0/0", "0/1/0", "0/2/0", at: 1_000)
        try await write(cluster, "raw", count: 3)
        let now = Int64(Date().timeIntervalSince1970 * 1_000) + 60_000
        try await write(cluster, "verified", madeOf: "0/0/0", "0/1/0", at: now)
        try await commit(cluster, .verify, offset: 3, tally([.forwarded: 3], forwarded: 3))
        #expect(await reconcile(cluster) == 0)
        #expect(transcript.output.contains("2 beyond: "), "\(transcript.output)")
        #expect(await reconcile(cluster, "--exact") == 1)
        #expect(transcript.output.contains("and 2 are there: 1 lost"), "\(transcript.output)")
        try await write(cluster, "verified", madeOf: "0/2/0", at: now)
        #expect(await reconcile(cluster, "--exact", "--json") == 0)
        #expect(
            transcript.output.contains(#""distinct":3,"repeated":0,"beyond":0,"former":3,"removed":0"#),
            "\(transcript.output)")
    }

    @Test func `a topic that is not there ends with 69 and is named`() async throws {
        let cluster = try await KafkaCluster(.mock)
        #expect(await reconcile(cluster) == 69)
        #expect(transcript.notes.contains("topic \(cluster.name("r")).raw is missing"))
    }
}
