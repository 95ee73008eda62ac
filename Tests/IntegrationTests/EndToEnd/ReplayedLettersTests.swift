import AppStore
import DeadLetters
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// Settings that are wrong at night, and the engineer who corrects them.
    @Suite(.timeLimit(.minutes(20))) struct ReplayedLettersTests {
        private static let bodyCount = 600

        @Test(.needsBuiltWorkers) func `a body refused by wrong settings entitles once replayed, and only once`()
            async throws
        {
            let traffic = try DemoTraffic(seed: 41, bodyCount: Self.bodyCount)
            var setup = PipelineSetup(.mock)
            setup.environment = ["BREAKER_ARMED_MAX": "1s", "SETTINGS_WATCH_INTERVAL": "200ms"]
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let refused = try await Self.refuse(pipeline)
                let night = ReplayNight(pipeline, bundleID: traffic.apps[0].bundleID)
                try await night.index()
                // Some of them are refused for another reason once the bundle ID is right.
                let dry = try await night.replay(["--json"])
                let expected = [dry.count("accepted"), dry.count("refused")]
                #expect(expected[0] > 100 && expected[0] + expected[1] == refused)

                // The process is killed on its way, then ended by Ctrl-C, and continues.
                let killed = try await night.replay(
                    ["--send", "--why", "typing error", "--failing-share-max", "0.5"], until: 21, SIGKILL)
                #expect(killed == .signalled(SIGKILL))
                let ended = try await night.replay(["--continue", "1"], until: 100, SIGINT)
                #expect(ended == .exited(code: 69))
                let list = try await night.run(["replays"])
                #expect(list.output.contains("interrupted"))
                let end = try await night.run(["replay", "--continue", "1", "--json"])
                #expect([end.count("accepted"), end.count("refused")] == expected, "\(end.notes)")
                #expect(end.code == (expected[1] == 0 ? 0 : 1))
                try await pipeline.settle()
                let reference = try pipeline.reference()
                let after = try await pipeline.withDatabase { try await RowPicture($0) }
                #expect(after.differences(from: reference.picture) == [])

                // By mistake, and on purpose.
                let digests = try await pipeline.withDatabase { try await TableDigests($0) }
                let why = ["--failing-share-max", "1", "--send", "--json", "--why", "once more"]
                let mistake = try await night.replay(why)
                #expect(mistake.code == 1)
                let again = try await night.replay(why + ["--again"])
                #expect(again.count("accepted") == expected[0], "\(again.notes)")
                try await pipeline.settle()
                let changed = try await pipeline.withDatabase { connection in
                    try await TableDigests(connection).changedTables(since: digests)
                }
                #expect(changed.filter { !$0.hasPrefix("dead_letter") } == [])
            }
        }

        @Test(.needsBuiltWorkers) func `what a later stage refused entitles once its bodies are sent again`()
            async throws
        {
            let traffic = try DemoTraffic(seed: 43, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let bundleID = traffic.apps[0].bundleID
                try await pipeline.execute(
                    """
                    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        RAISE EXCEPTION 'no row for this app' USING ERRCODE = '22003';
                    END $$;
                    CREATE TRIGGER refusing BEFORE INSERT ON transactions FOR EACH ROW
                    WHEN (NEW.bundle_id = '\(bundleID)') EXECUTE FUNCTION refuse()
                    """)
                try pipeline.startAll()
                try await pipeline.publish(traffic.items)
                try await pipeline.settle()
                let reference = try pipeline.reference()
                let before = try await pipeline.withDatabase { try await RowPicture($0) }
                #expect(!before.differences(from: reference.picture).isEmpty)
                let letters = try await pipeline.deadLetters().letters.filter { $0.reason == "not_storable" }
                #expect(letters.count > 10 && letters.allSatisfy { $0.stage == "entitle" })
                try await pipeline.execute("DROP TRIGGER refusing ON transactions")
                let bodies = try await pipeline.records(of: Topic.raw).count
                let linked = try await pipeline.records(of: Topic.linked)
                let night = ReplayNight(pipeline, bundleID: bundleID, reason: "not_storable")
                try await night.index()
                let end = try await night.replay(["--send", "--json", "--why", "mended"])
                #expect(end.code == 0 && end.count("accepted") == letters.count, "\(end.notes)")
                try await pipeline.settle()
                let after = try await pipeline.withDatabase { try await RowPicture($0) }
                #expect(after.differences(from: reference.picture) == [])
                let sent = try await pipeline.records(of: Topic.raw).count - bodies
                #expect(sent == Set(letters.compactMap(\.raw)).count)
                // The stages sent them on, and nobody else.
                let foreign = try await pipeline.records(of: Topic.linked).filter { record in
                    !linked.contains { RecordPosition($0) == RecordPosition(record) } && !record.isReplayed
                }
                #expect(foreign.isEmpty)
            }
        }

        /// Publishes everything while the bundle ID of the first app is mistyped, then corrects it.
        ///
        /// - Returns: how many bodies of that app were refused for it.
        private static func refuse(_ pipeline: RunningPipeline) async throws -> Int {
            let path = "\(pipeline.folder)/settings.json"
            let right = try String(contentsOfFile: path, encoding: .utf8)
            let bundleID = pipeline.traffic.apps[0].bundleID
            let wrong = right.replacing("\"\(bundleID)\"", with: "\"typo.\(bundleID)\"")
            #expect(wrong != right)
            try wrong.write(toFile: path, atomically: true, encoding: .utf8)
            let workers = try pipeline.startAll()
            try await pipeline.publish(pipeline.traffic.items)
            try await pipeline.settle()
            let reference = try pipeline.reference()
            let before = try await pipeline.withDatabase { try await RowPicture($0) }
            #expect(!before.differences(from: reference.picture).isEmpty)
            try right.write(toFile: path, atomically: true, encoding: .utf8)
            await eventually { workers[.verify]?.log.events("settings reloaded").count == 1 }
            let letters = try await pipeline.deadLetters().letters.filter {
                $0.reason == "bundle_mismatch" && $0.identifiers.bundleID == bundleID
            }
            #expect(letters.count > 100)
            return letters.count
        }
    }
}

/// The engineer's commands, run with the built executable.
struct ReplayNight {
    struct Ended {
        let code: Int32?
        let output: String
        let notes: String

        /// The first number of this name in the JSON; -1 without one.
        func count(_ name: String) -> Int {
            let rest = output.split(separator: "\"\(name)\":", maxSplits: 1).dropFirst().first
            return rest.flatMap { Int($0.prefix { $0.isNumber }) } ?? -1
        }
    }

    private let pipeline: RunningPipeline
    private let chosen: [String]

    init(_ pipeline: RunningPipeline, bundleID: String, reason: String = "bundle_mismatch") {
        self.pipeline = pipeline
        chosen = ["--reason", reason, "--bundle", bundleID]
    }

    /// Indexes the dead-letter topic as it is.
    func index() async throws {
        let topic = pipeline.layout.prefix + Topic.deadLetter
        var next: [Int32: Int64] = [:]
        let records = try await pipeline.records(of: Topic.deadLetter).map { record in
            next[record.topicPartition.partition] = record.offset + 1
            let row = DeadLetterRow(try DeadLetter(decoding: record), record)
            return (record.topicPartition.partition, record.offset, row)
        }
        let client = PostgresClient(pipeline.database, connectionsMax: 1)
        _ = try await DeadLetterIndexTable.add(records, of: topic, nextOffsets: next, on: client)
        await client.close()
    }

    /// Keeps indexing while a command runs: a replay reads its outcomes there.
    private func indexing<T>(_ body: () async throws -> T) async throws -> T {
        let work = Task { while !Task.isCancelled { try? await index() } }
        defer { work.cancel() }
        return try await body()
    }

    func replay(_ arguments: [String] = []) async throws -> Ended { try await run(["replay"] + chosen + arguments) }

    func run(_ arguments: [String]) async throws -> Ended {
        let (process, files) = try start(arguments)
        guard case .exited(let code) = try await indexing({ try await process.waitForEnd(deadline: .hopeless) }) else {
            return Ended(code: nil, output: "", notes: "")
        }
        let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
        PublishedSchema.expect("dead-letter", arguments, texts[0].utf8)
        return Ended(code: code, output: texts[0], notes: texts[1])
    }

    /// Starts a replay and sends it a signal once so many records are known to be sent.
    func replay(_ arguments: [String], until count: Int, _ signal: Int32) async throws -> ProcessEnd {
        let isNew = !arguments.contains("--continue")
        let (process, files) = try start(["replay"] + (isNew ? chosen : []) + arguments)
        try await indexing {
            try await eventually {
                try await pipeline.withDatabase { connection in
                    try await connection.query("SELECT count(sent_at) FROM dead_letter_replay_records")[0].int8(0)
                } >= Int64(count)
            }
        }
        let notes = try String(contentsOfFile: files[1], encoding: .utf8)
        #expect(process.isRunning, "it has ended by itself: \(notes)")
        process.signal(signal)
        return try await process.waitForEnd(deadline: .hopeless)
    }

    private func start(_ arguments: [String]) throws -> (ChildProcess, files: [String]) {
        let name = UUID().uuidString
        let files = ["out", "err"].map { "\(pipeline.folder)/replay-\(name).\($0)" }
        let process = try ChildProcess(
            executable: "\(BuiltWorkers.folder)/dead-letter",
            arguments: arguments + ["--config", "\(pipeline.folder)/settings.json"],
            environment: ["USER": "kim", "SWIFT_BACKTRACE": "enable=no"], standardOutput: .file(path: files[0]),
            standardError: .file(path: files[1]))
        return (process, files)
    }
}
