import Demonstration
import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology

extension PipelineTests.RotationTests {
    private static let passwordName = "RDKAFKA_SASL_PASSWORD"
    private static let pauseMax = Duration.seconds(5)
    /// Far below the session timeout of 45 s, and above the 3 s that librdkafka may wait before it connects again:
    /// the rest is the work of brokers that have just started, beside the workers, on a busy machine.
    private static let reconnectMax = Duration.seconds(15)
    private static let passwords = (database: "wren-4711", kafka: "lapwing-4712")

    /// Rotates passwords under load; the index and the console continue too.
    ///
    /// The brokers' passwords change with the files, and the former ones become invalid.
    static func rotatePasswords(_ kafka: SecureKafka, _ server: PrivatePostgres) async throws {
        let secrets = try SecretFiles()
        let setup = try setup(kafka, server, secrets)
        try await RunningPipeline.run(setup, traffic(31)) { pipeline in
            try await pipeline.execute("CREATE ROLE rotating SUPERUSER LOGIN PASSWORD 'robin-4710'")
            try pipeline.startAll()
            let (index, console) = try startTools(pipeline)
            let browser = try await console.consoleClient()
            try await pipeline.waitUntilReady()
            let rebalances = try kafka.rebalances(of: pipeline)
            #expect(rebalances.count { $0.contains("Stabilized group") } == Topology.stages.count)
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let pauses = CommitPauses()
                group.addTask { try await publish(pipeline, until: isOver) }
                group.addTask { await pauses.watch(pipeline, until: { isOver.isRaised }) }
                try await replaceDatabasePassword(pipeline, pauses, secrets)
                try await replaceKafkaPassword(pipeline, pauses, secrets, kafka)
                isOver.raise()
                try await group.waitForAll()
            }
            try await expectSettled(pipeline)
            try await expectGoingOn(pipeline, index, console, browser)
            // The members, static ones, have kept their generation and their partitions.
            #expect(try kafka.rebalances(of: pipeline) == rebalances)
            for copy in pipeline.copies {
                #expect(copy.log.events("partitions assigned").count == 1, "\(copy.name)")
                let released = ["revoked, finishing", "lost, discarding"].flatMap {
                    copy.log.events("partitions \($0) batches in flight")
                }
                #expect(released.isEmpty, "\(copy.name)")
            }
        }
    }

    private static func setup(_ kafka: SecureKafka, _ server: PrivatePostgres, _ secrets: SecretFiles) throws
        -> PipelineSetup
    {
        var setup = PipelineSetup(.real)
        setup.ownCluster = KafkaCluster(startedAt: kafka.bootstrapServers)
        setup.ownServer = server
        setup.hasStaticMembers = true
        // The product's own, which outlasts the brokers' restart.
        setup.sessionTimeout = .seconds(45)
        setup.environment = try kafka.environment("admin", .plain)
        try secrets.write(#require(setup.environment[passwordName]), to: "kafka")
        try secrets.write("robin-4710", to: "database")
        setup.environment[passwordName] = nil
        setup.environment[passwordName + "_FILE"] = secrets.path("kafka")
        setup.environment["DATABASE_URL"] = "postgresql://rotating@127.0.0.1:\(server.port)/postgres"
        setup.environment["DATABASE_PASSWORD_FILE"] = secrets.path("database")
        setup.environment["SETTINGS_WATCH_INTERVAL"] = "200ms"
        return setup
    }

    /// The tools that run as long as the workers, with the workers' own settings.
    private static func startTools(_ pipeline: RunningPipeline) throws -> (index: RunningTool, console: RunningTool) {
        func start(_ command: String) throws -> RunningTool {
            try RunningTool(
                [command, "--config", "\(pipeline.folder)/settings.json"], folder: pipeline.folder,
                environment: pipeline.setup.environment.merging(RunningTool.consoleSettings) { $1 })
        }
        return (try start("index"), try start("serve"))
    }

    /// Publishes all the traffic again and again, no faster than the workers process it.
    private static func publish(_ pipeline: RunningPipeline, until isOver: Flag) async throws {
        var rest = pipeline.traffic.items[...]
        while !isOver.isRaised || !rest.isEmpty {
            // A failed test no longer says when it is over.
            try Task.checkCancellation()
            if rest.isEmpty { rest = pipeline.traffic.items[...] }
            try await pipeline.publish(rest.prefix(10))
            // A known record reaches the last worker if a request waits for an answer.
            try await pipeline.publishAgain(rest.prefix(10))
            rest = rest.dropFirst(10)
            // No answers while the brokers are away.
            _ = await becomesTrue(within: .seconds(60), every: .milliseconds(20)) {
                let lag = (try? await pipeline.reconciliation())?[.verify]?.lag
                return isOver.isRaised || lag ?? .max < 40
            }
        }
    }

    /// Waits until each worker has settled more than before.
    private static func waitUntilAllMove(_ pipeline: RunningPipeline) async throws {
        func settled() async throws -> [Int64] { try await pipeline.workerAccounts().map(\.settled) }
        var before: [Int64]?
        let isMoving = try await becomesTrue(within: .seconds(60), every: .milliseconds(100)) {
            try pipeline.requireRunning()
            guard let now = try? await settled() else { return false }
            let first = before ?? now
            before = first
            return zip(first, now).allSatisfy { $0 < $1 }
        }
        guard isMoving else { throw PipelineFailure("not all workers get on") }
    }

    /// Replaces a secret once all workers progress, and waits until they progress again.
    ///
    /// - Parameter replace: returns when the former secret is invalid.
    /// - Returns: the longest time in which a partition with waiting records committed nothing.
    private static func rotate(_ pipeline: RunningPipeline, _ pauses: CommitPauses, _ replace: () async throws -> Void)
        async throws -> Duration
    {
        try await waitUntilAllMove(pipeline)
        _ = try await pauses.take()
        try await replace()
        try await waitUntilAllMove(pipeline)
        return try await pauses.take().values.max() ?? .zero
    }

    private static func waitUntilRead(_ setting: String, _ pipeline: RunningPipeline, by stages: [StageDescription])
        async
    {
        for copy in pipeline.copies where stages.contains(copy.stage) {
            await eventually("\(copy.name) reads \(setting)") {
                copy.log.lines.contains { $0.contains("\"settings reloaded\"") && $0.contains(setting) }
            }
        }
    }

    private static func replaceDatabasePassword(
        _ pipeline: RunningPipeline, _ pauses: CommitPauses, _ secrets: SecretFiles
    ) async throws {
        let pause = try await rotate(pipeline, pauses) {
            try await pipeline.execute("ALTER ROLE rotating PASSWORD '\(passwords.database)'")
            try secrets.write(passwords.database, to: "database")
            await waitUntilRead("database.password", pipeline, by: [.dedupe, .link, .entitle])
            try await pipeline.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = 'rotating'
                """)
        }
        print("longest pause of a partition by a rotated database password: \(pause)")
        #expect(pause < pauseMax)
    }

    private static func replaceKafkaPassword(
        _ pipeline: RunningPipeline, _ pauses: CommitPauses, _ secrets: SecretFiles, _ kafka: SecureKafka
    ) async throws {
        let former = try #require(try kafka.environment("admin", .plain)[passwordName])
        var outage = Duration.zero
        let pause = try await rotate(pipeline, pauses) {
            try secrets.write(passwords.kafka, to: "kafka")
            // The brokers read their list of passwords when they start.
            outage = try await ContinuousClock().measure {
                try await kafka.changePassword(of: "admin", from: former, to: passwords.kafka)
            }
            await waitUntilRead("rdkafka.sasl.password", pipeline, by: Topology.stages)
        }
        print("longest pause by a rotated Kafka password: \(pause), brokers away \(outage)")
        #expect(pause < outage + reconnectMax)
    }

    private static func expectSettled(_ pipeline: RunningPipeline) async throws {
        let reconciliation = try await pipeline.settle()
        #expect(reconciliation.isBalanced)
        try pipeline.requireRunning()
        for copy in pipeline.copies {
            #expect(copy.log.events("settings changed that need a restart").isEmpty)
            expectNoPassword(copy.log.lines.joined(), copy.name)
        }
    }

    private static func expectNoPassword(_ text: String, _ name: String) {
        for password in [passwords.database, passwords.kafka] { #expect(!text.contains(password), "\(name)") }
    }

    /// The index has reached the topic's end, and the console shows its progress.
    private static func expectGoingOn(
        _ pipeline: RunningPipeline, _ index: RunningTool, _ console: RunningTool, _ browser: ConsoleClient
    ) async throws {
        let count = try await pipeline.records(of: "dead-letter").count
        var newest = ""
        try await eventually("the index follows to the end of the topic") {
            try await pipeline.withDatabase { connection in
                newest =
                    try await connection.query("SELECT id FROM dead_letters ORDER BY failed_at DESC LIMIT 1").map {
                        $0.text(0)
                    }.first ?? ""
                return try await connection.query(
                    "SELECT coalesce(sum(next_offset), 0)::int8 FROM dead_letter_progress")[0].int8(0)
            } == Int64(count)
        }
        let page = try await browser.get("/letters/\(newest)")
        #expect(page.status == 200 && !page.body.contains("Kafka did not return it"), "\(page.body)")
        for tool in [index, console] {
            expectNoPassword(tool.output, "dead-letter")
            try await tool.stop()
        }
    }
}

extension SecureKafka {
    /// The coordinator's log lines about rebalances of a pipeline's groups.
    fileprivate func rebalances(of pipeline: RunningPipeline) throws -> [String] {
        let log = folder.appending(path: "broker-0/server.log")
        return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init).filter { line in
            let isOfStage = Topology.stages.contains { line.contains(" group \(pipeline.layout.prefix)\($0.name) ") }
            return isOfStage && line.contains("generation")
        }
    }
}
