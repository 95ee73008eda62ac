import AppStore
import IndexStage
import Kafka
import Postgres
import Records
import Settings
import Simulation
import Store
import Telemetry
import TestSupport
import Testing
import Topology
import Worker

@testable import DeadLetters

/// The index of the dead-letter topic, with a real topic and database.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterIndexTests {
    @Test(arguments: KafkaCluster.Kind.available)
    func `each letter is indexed once, and a foreign record is counted and named`(kind: KafkaCluster.Kind) async throws
    {
        let rig = try await IndexRig(kind)
        let foreign = ProducerRecord(topic: rig.topic.name, value: Array("none".utf8))
        try await rig.send(rig.letters(0..<300) + [foreign] + rig.letters(0..<10))
        try await rig.index()
        #expect(try await rig.count() == 300)
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.reduce(0) { $0 + $1.copies } == 310)
        let row = try #require(rows.first { $0.source.position.offset == 7 })
        let read = try #require(
            try await rig.topic.read(
                at: RecordPosition(topic: rig.topic.name, partition: row.letterPartition, offset: row.letterOffset)))
        #expect(read.letter.id == row.id)
        #expect(DeadLetterOriginal(read.record).value == Sample.original().value)
        let passedOver = rig.log.metadata(of: "record not indexed")
        #expect(passedOver.count == 1 && passedOver[0].contains("it is no dead letter"))
        let progress = try await DeadLetterIndexTable.progress(on: rig.client)
        #expect(progress.reduce(0) { $0 + $1.foreignCount } == 1)

        // The group has committed the offsets that the database holds, with an account of them.
        let admin = try KafkaAdmin(configuration: rig.cluster.client)
        let partitions = progress.map { TopicPartition(topic: rig.topic.name, partition: $0.partition) }
        let committed = try await admin.committedOffsets(
            group: rig.cluster.name("index") + ".dead-letter-index", partitions, deadline: .seconds(20))
        await admin.close()
        var counts: [Disposition: Int64] = [:]
        for held in progress {
            let partition = TopicPartition(topic: rig.topic.name, partition: held.partition)
            #expect(committed[partition]?.offset == held.nextOffset)
            let metadata = committed[partition].flatMap {
                CommitMetadata($0.metadata, counting: StageDescription.deadLetterIndex.dispositions)
            }
            counts.merge(metadata?.tally.counts ?? [:]) { $0 + $1 }
        }
        #expect(counts == [.indexed: 310, .foreign: 1])
    }

    @Test func `indexing again, by any group, adds only new letters`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<50))
        try await rig.index()
        try await rig.send(rig.letters(40..<60))
        try await rig.index(group: "other")
        #expect(try await rig.count() == 60)
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client)
        #expect(rows.reduce(0) { $0 + $1.copies } == 70)
    }

    @Test func `a letter that PostgreSQL never takes is counted, and refused nowhere`() async throws {
        let rig = try await IndexRig(partitions: 1)
        _ = try await rig.client.query(
            """
            ALTER TABLE dead_letters ADD CONSTRAINT numeric_failure
            CHECK (source_offset / (source_offset - 4) < 100)
            """)
        try await rig.send(rig.letters(0..<10))
        try await rig.index()
        #expect(try await rig.count() == 9)
        let progress = try await DeadLetterIndexTable.progress(on: rig.client)
        #expect(progress.map(\.nextOffset) == [10])
        #expect(progress.map(\.foreignCount) == [1])
        let passedOver = rig.log.metadata(of: "record not indexed")
        #expect(passedOver.count == 1 && passedOver[0].contains("PostgreSQL will never accept it"))
        #expect(try await rig.topic.watermarks()[0]?.high == 10)
    }

    @Test func `an index of another topic is not added to`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        _ = try await rig.client.query("UPDATE dead_letter_progress SET topic = 'other'")
        let run = try IndexRun(rig)
        await eventually {
            rig.log.events.contains { event in
                event.metadata.pairs.contains { "\($0.value)".contains("the index of other") }
            }
        }
        #expect(!run.service.health.isReady)
        try await run.stop()
        for mode in ["--prune", "--rebuild"] {
            let tool = await rig.tool("index", mode, "--yes")
            #expect(tool.exitCode == ExitCode.configuration, "\(tool.notes)")
        }
    }

    @Test func `after a database outage nothing is missing`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<100))
        let server = try await PostgresServer.shared.server()
        let administrator = PostgresClient(server.options("tests"))
        let name = try await rig.client.query("SELECT current_database()")[0].text(0)
        func allow(_ isAllowed: Bool) async throws {
            _ = try await administrator.query("ALTER DATABASE \(name) ALLOW_CONNECTIONS \(isAllowed)")
            guard !isAllowed else { return }
            _ = try await administrator.query(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = '\(name)'
                """)
        }
        let run = try IndexRun(rig, ["DATABASE_CONNECT_DEADLINE": "2s"])
        try await eventually { try await rig.count() == 100 }
        await eventually { run.service.health.isReady }
        try await allow(false)
        try await rig.send(rig.letters(100..<300))
        await eventually { !run.service.health.isReady }
        try await allow(true)
        await eventually { (try? await rig.count()) == 300 }
        await eventually { run.service.health.isReady }
        try await run.stop()
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.allSatisfy { $0.copies == 1 })
        await administrator.close()
    }

    @Test func `two copies share the partitions, and one continues after the other`() async throws {
        let rig = try await IndexRig(partitions: 4)
        try await rig.send(rig.letters(0..<200))
        let runs = try (0..<2).map { _ in try IndexRun(rig) }
        try await eventually { try await rig.count() == 200 }
        try await runs[0].stop()
        try await rig.send(rig.letters(200..<400))
        try await eventually { try await rig.count() == 400 }
        try await runs[1].stop()
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.allSatisfy { $0.copies == 1 })
    }

    @Test func `several copies of one batch at once count its letters once`() async throws {
        let rig = try await IndexRig(partitions: 1)
        try await rig.send(rig.letters(0..<50))
        var records: [ConsumerRecord] = []
        _ = try await rig.topic.read { _, record in records.append(record) }
        let stages = (0..<3).map { _ in IndexStage(rig.topic, client: rig.client, log: Log(rig.log)) }
        for _ in 0..<2 {
            try await withThrowingTaskGroup { [records] group in
                for stage in stages { group.addTask { _ = try await stage.process(records) } }
                try await group.waitForAll()
            }
        }
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client)
        #expect(rows.count == 50)
        #expect(rows.allSatisfy { $0.copies == 1 })
    }

    @Test func `hostile headers stop nothing, and harm no reader`() async throws {
        let rig = try await IndexRig()
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        let hostile: [[UInt8]] = [
            Array("\u{1B}]0;title\u{07}\u{1B}[2J".utf8), Array("<script>alert(1)</script>".utf8),
            Array("\u{202E}gnp.exe\u{2066}".utf8), [0x61, 0, 0x62], [0xFF, 0xFE, 0xC0, 0x80], long, [],
        ]
        var records: [ProducerRecord] = []
        for (number, value) in hostile.enumerated() {
            for name in [
                "dlq.reason", "dlq.stage", "dlq.detail", "dlq.class", "dlq.worker", "dlq.chain",
                "dlq.unverified.transaction-id", "dlq.unverified.bundle-id", "dlq.source.sha256", "dlq.source.topic",
                "dlq.id", "dlq.attempt", "dlq.unverified.signed-date", "producer",
            ] {
                var letter = rig.letters((records.count + 1)..<(records.count + 2))[0]
                letter.headers.removeAll { $0.name == name }
                letter.headers.append(KafkaHeader(name: name, value: value))
                letter.key = Array("\(number)".utf8)
                records.append(letter)
            }
        }
        try await rig.send(records)
        try await rig.index()
        let progress = try await DeadLetterIndexTable.progress(on: rig.client)
        #expect(progress.reduce(0) { $0 + $1.nextOffset } == Int64(records.count))
        for arguments in [["list", "-n1000"], ["list", "-n1000", "--json"], ["count", "--by=worker"]] {
            let runs = [await rig.tool(arguments[0], arguments[1]), await rig.tool("tail", "-n1000", "--from-topic")]
            for run in runs {
                #expect(run.exitCode == 0)
                let scalars = (run.result + run.notes).unicodeScalars
                #expect(!scalars.contains { [0x1B, 0x07, 0, 0x202E, 0x2066].contains($0.value) })
            }
        }
    }

    @Test func `a rebuild reads the topic again, and leaves the decisions`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<30) + rig.letters(0..<5))
        try await rig.index()
        let who = try #require(AuditorName("anna"))
        _ = try await DeadLetterActionTable.decide(
            .resolved, DeadLetterQuery(), who: who, why: "seen", deadline: .seconds(60), on: rig.client)
        let before = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client)
        for sql in [
            "DELETE FROM dead_letters WHERE source_offset < 3",
            "UPDATE dead_letters SET reason = 'x', copies = 9 WHERE source_offset IN (5, 6)",
        ] { _ = try await rig.client.query(sql) }
        // The mock cluster refuses commits for a group that ever had a member.
        let environment = ["KAFKA_GROUP_PREFIX": rig.cluster.name("again") + "."]
        let counted = await rig.tool("index", "--rebuild", "--json", environment: environment)
        #expect(counted.exitCode == 1)
        #expect(counted.result == #"{"rows":27,"is_removed":false}"# + "\n", "\(counted.notes)")
        #expect(try await rig.count() == 27)
        let run = await rig.tool("index", "--rebuild", "--yes", environment: environment)
        #expect(run.exitCode == 0, "\(run.notes)")
        #expect(run.result == "27 rows removed\n")
        #expect(try await rig.count() == 0)
        try await rig.send(rig.letters(30..<40))
        try await rig.index(group: "again")
        #expect(try await rig.count() == 40)
        #expect(rig.log.count("commit metadata missing or unreadable, counts restart") == 0)
        var resolved = DeadLetterQuery()
        resolved.states = [.resolved]
        let after = try await DeadLetterTable.page(resolved, limit: 100, on: rig.client)
        #expect(
            after
                == before.map { row in
                    var row = row
                    row.state = .resolved
                    return row
                })
        #expect(after.reduce(0) { $0 + $1.copies } == 35)
        #expect(try await DeadLetterActionTable.newest(limit: 100, on: rig.client).count == 30)
    }

    @Test func `a recreated topic is indexed from its beginning`() async throws {
        let rig = try await IndexRig(partitions: 1)
        try await rig.send(rig.letters(0..<10))
        try await rig.index()
        _ = try await rig.client.query("UPDATE dead_letter_progress SET next_offset = 1000")
        let run = try IndexRun(rig, group: "other")
        try await eventually { try await DeadLetterIndexTable.progress(on: rig.client).map(\.nextOffset) == [10] }
        try await run.stop()
        #expect(rig.log.count("topic recreated, its letters are indexed again") == 1)
        #expect(try await rig.count() == 10)
    }
}
