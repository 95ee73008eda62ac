import AppStore
import Kafka
import Postgres
import Records
import Settings
import Simulation
import Store
import TestSupport
import Testing

@testable import DeadLetters

/// The index of the dead-letter topic, with a real topic and database.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterIndexTests {
    @Test func `a recreated consumer continues after the former one`() async throws {
        let rig = try await IndexRig()
        let indexer = rig.indexer()
        let following = Task { try await indexer.run(untilEnd: false) }
        try await rig.send(rig.letters(0..<100))
        try await eventually { try await rig.count() == 100 }
        indexer.renewClient()
        await eventually {
            rig.events.all.count { if case .assigned = $0 { true } else { false } } == 2
        }
        try await rig.send(rig.letters(50..<200))
        try await eventually { try await rig.count() == 200 }
        following.cancel()
        try await following.value
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.reduce(0) { $0 + $1.copies } == 250)
    }

    @Test(arguments: KafkaCluster.Kind.available)
    func `each letter is indexed once, and a foreign record is counted and named`(
        kind: KafkaCluster.Kind
    ) async throws {
        let rig = try await IndexRig(kind)
        let foreign = ProducerRecord(topic: rig.topic.name, value: Array("none".utf8))
        try await rig.send(rig.letters(0..<300) + [foreign] + rig.letters(0..<10))
        let events = try await rig.index()
        #expect(try await rig.count() == 300)
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.reduce(0) { $0 + $1.copies } == 310)
        let row = try #require(rows.first { $0.source.position.offset == 7 })
        let read = try #require(
            try await rig.topic.read(
                at: RecordPosition(
                    topic: rig.topic.name,
                    partition: row.letterPartition,
                    offset: row.letterOffset
                )
            )
        )
        #expect(read.letter.id == row.id)
        #expect(DeadLetterOriginal(read.record).value == Sample.original().value)
        let passedOver = events.count {
            if case .passedOver(_, _, "it is no dead letter") = $0 { true } else { false }
        }
        #expect(passedOver == 1)
        let progress = try await DeadLetterIndexTable.progress(on: rig.client)
        #expect(progress.reduce(0) { $0 + $1.foreignCount } == 1)

        // The group has committed the offsets that the database holds.
        let admin = try KafkaAdmin(configuration: rig.cluster.client)
        let partitions = progress.map {
            TopicPartition(topic: rig.topic.name, partition: $0.partition)
        }
        let committed = try await admin.committedOffsets(
            group: rig.cluster.name("index"),
            partitions,
            deadline: .seconds(20)
        )
        await admin.close()
        for held in progress {
            let partition = TopicPartition(topic: rig.topic.name, partition: held.partition)
            #expect(committed[partition]?.offset == held.nextOffset)
        }
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

    @Test func `an index up to the end that is cancelled before it does not end as if done`()
        async throws
    {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<20))
        let indexer = DeadLetterIndexer(
            rig.topic,
            client: rig.client,
            settings: .init(group: rig.cluster.name("index"))
        ) { event in
            if case .assigned = event { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let run = Task { try await indexer.run(untilEnd: true) }
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `an empty topic has nothing to index, a missing one is waited for`() async throws {
        let rig = try await IndexRig()
        try await rig.index()
        #expect(try await rig.count() == 0)
        let absent = DeadLetterTopic(
            name: rig.cluster.name("absent"),
            configuration: rig.cluster.client,
            deadline: .seconds(5)
        )
        let events = IndexRig.Events()
        let indexer = DeadLetterIndexer(
            absent,
            client: rig.client,
            settings: .init(group: "index"),
            report: events.add
        )
        let task = Task { try await indexer.run(untilEnd: true) }
        await eventually {
            events.all.contains {
                if case .retrying("Kafka or PostgreSQL", _, _) = $0 { true } else { false }
            }
        }
        task.cancel()
        _ = await task.result
    }

    @Test func `an index of another topic is not added to`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<3))
        try await rig.index()
        let other = DeadLetterTopic(
            name: try await rig.cluster.topic("other-letters", partitions: 1),
            configuration: rig.cluster.client
        )
        let indexer = DeadLetterIndexer(
            other,
            client: rig.client,
            settings: .init(group: "index"),
            report: { _ in }
        )
        let error = await #expect(throws: CommandError.self) {
            try await indexer.run(untilEnd: true)
        }
        #expect(error?.description.contains(rig.topic.name) == true)
    }

    @Test func `after a database outage nothing is missing`() async throws {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<100))
        let server = try await PostgresServer.shared.server()
        let administrator = PostgresClient(server.options("tests"))
        let name = try await rig.client.query("SELECT current_database()")[0].text(0)
        var options = rig.options
        options.connectDeadline = .seconds(2)
        let client = PostgresClient(options, connectionsMax: 2)
        let events = IndexRig.Events()
        var settings = DeadLetterIndexer.Settings(group: "index")
        settings.retryDelayMax = .seconds(1)
        let indexer = DeadLetterIndexer(
            rig.topic,
            client: client,
            settings: settings,
            report: events.add
        )
        func allow(_ isAllowed: Bool) async throws {
            _ = try await administrator.query(
                "ALTER DATABASE \(name) ALLOW_CONNECTIONS \(isAllowed)"
            )
            guard !isAllowed else { return }
            _ = try await administrator.query(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = '\(name)'
                """
            )
        }
        let task = Task { try await indexer.run(untilEnd: false) }
        try await eventually { try await rig.count() == 100 }
        try await allow(false)
        try await rig.send(rig.letters(100..<300))
        await eventually {
            events.all.contains {
                if case .retrying("PostgreSQL", _, _) = $0 { true } else { false }
            }
        }
        try await allow(true)
        await eventually { (try? await rig.count()) == 300 }
        task.cancel()
        try await task.value
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.allSatisfy { $0.copies == 1 })
        await client.close()
        await administrator.close()
    }

    @Test func `two copies share the partitions, and one continues after the other`()
        async throws
    {
        let rig = try await IndexRig(partitions: 4)
        try await rig.send(rig.letters(0..<200))
        let tasks = (0..<2).map { _ in
            let indexer = DeadLetterIndexer(
                rig.topic,
                client: rig.client,
                settings: .init(group: "shared"),
                report: { _ in }
            )
            return Task { try await indexer.run(untilEnd: false) }
        }
        try await eventually { try await rig.count() == 200 }
        tasks[0].cancel()
        try await tasks[0].value
        try await rig.send(rig.letters(200..<400))
        try await eventually { try await rig.count() == 400 }
        tasks[1].cancel()
        try await tasks[1].value
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 1000, on: rig.client)
        #expect(rows.allSatisfy { $0.copies == 1 })
    }

    @Test func `hostile headers stop nothing, and harm no reader`() async throws {
        let rig = try await IndexRig()
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        let hostile: [[UInt8]] = [
            Array("\u{1B}]0;title\u{07}\u{1B}[2J".utf8), Array("<script>alert(1)</script>".utf8),
            Array("\u{202E}gnp.exe\u{2066}".utf8), [0x61, 0, 0x62], [0xFF, 0xFE, 0xC0, 0x80], long,
            [],
        ]
        var records: [ProducerRecord] = []
        for (number, value) in hostile.enumerated() {
            for name in [
                "dlq.reason", "dlq.stage", "dlq.detail", "dlq.class", "dlq.worker", "dlq.chain",
                "dlq.unverified.transaction-id", "dlq.unverified.bundle-id", "dlq.source.sha256",
                "dlq.source.topic", "dlq.id", "dlq.attempt", "dlq.unverified.signed-date",
                "producer",
            ] {
                var letter = rig.letters((records.count + 1)..<(records.count + 2))[0]
                letter.headers.removeAll { $0.name == name }
                letter.headers.append(KafkaHeader(name: name, value: value))
                letter.key = Array("\(number)".utf8)
                records.append(letter)
            }
        }
        try await rig.send(records)
        let events = try await rig.index()
        let indexed = events.reduce(0) { count, event in
            if case .indexed(let records, _) = event { count + records } else { count }
        }
        #expect(indexed == records.count)
        for arguments in [
            ["list", "-n1000"], ["list", "-n1000", "--json"], ["count", "--by=worker"],
        ] {
            let runs = [
                await rig.tool(arguments[0], arguments[1]),
                await rig.tool(arguments[0], arguments[1], "--from-topic"),
            ]
            for run in runs {
                #expect(run.exitCode == 0)
                let scalars = (run.result + run.notes).unicodeScalars
                #expect(!scalars.contains { [0x1B, 0x07, 0, 0x202E, 0x2066].contains($0.value) })
            }
        }
    }

    @Test func `a rebuild makes the index equal the topic, and reports the difference`()
        async throws
    {
        let rig = try await IndexRig()
        try await rig.send(rig.letters(0..<30) + rig.letters(0..<5))
        try await rig.index()
        let same = await rig.tool("index", "--rebuild")
        #expect(same.exitCode == 0, "\(same.notes)")
        #expect(same.result == "the index was what the topic says\n")

        let who = try #require(AuditorName("anna"))
        _ = try await DeadLetterActionTable.decide(
            .resolved,
            DeadLetterQuery(),
            who: who,
            why: "seen",
            deadline: .seconds(60),
            on: rig.client
        )
        for sql in [
            "DELETE FROM dead_letters WHERE source_offset < 3",
            "UPDATE dead_letters SET reason = 'x', copies = 9 WHERE source_offset IN (5, 6)",
            """
            INSERT INTO dead_letters SELECT (jsonb_populate_record(letter,
                '{"id": "invented", "letter_offset": 0, "letter_partition": 0}')).*
            FROM dead_letters AS letter WHERE source_offset = 9
            """,
        ] {
            _ = try await rig.client.query(sql)
        }
        let run = await rig.tool("index", "--rebuild", "--json")
        #expect(run.result == #"{"added":3,"removed":1,"changed":2}"# + "\n", "\(run.notes)")
        #expect(try await rig.count() == 30)
        var resolved = DeadLetterQuery()
        resolved.states = [.resolved]
        #expect(try await rig.count(resolved) == 30)
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: rig.client)
        #expect(rows.reduce(0) { $0 + $1.copies } == 35)
        let actions = try await DeadLetterActionTable.newest(limit: 100, on: rig.client)
        #expect(actions.count == 30)
        // The indexer continues after it.
        try await rig.send(rig.letters(30..<40))
        try await rig.index()
        #expect(try await rig.count() == 40)
    }

    @Test func `a recreated topic is indexed from its beginning`() async throws {
        let rig = try await IndexRig(partitions: 1)
        try await rig.send(rig.letters(0..<10))
        try await rig.index()
        _ = try await rig.client.query("UPDATE dead_letter_progress SET next_offset = 1000")
        let events = try await rig.index()
        #expect(events.contains { if case .madeAnew(0) = $0 { true } else { false } })
        let progress = try await DeadLetterIndexTable.progress(on: rig.client)
        #expect(progress.map(\.nextOffset) == [10])
        #expect(try await rig.count() == 10)
    }
}
