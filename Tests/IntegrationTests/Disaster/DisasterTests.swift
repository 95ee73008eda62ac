import Foundation
import Kafka
import Operations
import Postgres
import Records
import Simulation
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// The steps of deploy/recovery.md; run by deploy/rehearsal.sh, as each takes a minute.
    @Suite(
        .timeLimit(.minutes(10)),
        .enabled(if: ProcessInfo.processInfo.environment["REHEARSAL"] == "yes", "run by deploy/rehearsal.sh"),
        .needsKafkaLauncher) struct DisasterTests
    {
        private static func traffic() throws -> DemoTraffic { try DemoTraffic(seed: 17, bodyCount: 600) }

        private static func setup(_ server: PrivatePostgres) -> PipelineSetup {
            var setup = PipelineSetup(.real)
            setup.ownServer = server
            return setup
        }

        private static func withServer(_ body: (RecoverableServer) async throws -> Void) async throws {
            let server = try await RecoverableServer.start()
            do {
                try await body(server)
                try await server.remove()
            } catch {
                try await server.remove()
                throw error
            }
        }

        @Test func `a database restored to an instant catches up, and the feed continues`() async throws {
            try await Self.withServer { recoverable in
                let setup = Self.setup(recoverable.server)
                try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                    try pipeline.startAll()
                    try await pipeline.publish(upTo: 0.3)
                    try await pipeline.settle()
                    try await recoverable.backUp()
                    try await pipeline.publish(upTo: 0.6)
                    try await pipeline.settle()
                    let instant = try await recoverable.archiveLog()
                    try await pipeline.publish(upTo: 0.9)
                    try await pipeline.settle()
                    try await pipeline.waitUntilPublished()
                    _ = try await recoverable.archiveLog()
                    let before = try await pipeline.count("transactions")

                    #expect(try await pipeline.endsOfAll() == [])
                    try await recoverable.restore(to: instant)
                    #expect(try await pipeline.count("transactions") < before)
                    try await pipeline.resetOffsets(
                        of: [.dedupe, .link, .entitle], "--to-datetime=\(Self.minuteBefore(instant))")
                    #expect(await pipeline.operate("recover", "feed").code == 0)

                    try await pipeline.catchUp()
                }
            }
        }

        @Test func `a lost database is built again from the raw topic`() async throws {
            try await Self.withServer { recoverable in
                let setup = Self.setup(recoverable.server)
                let traffic = try Self.traffic()
                try await RunningPipeline.run(setup, traffic) { pipeline in
                    try pipeline.startAll()
                    try await pipeline.publish(upTo: 0.9)
                    try await pipeline.settle()
                    try await pipeline.waitUntilPublished()
                    #expect(try await pipeline.endsOfAll() == [])
                    try await pipeline.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
                    let status = await pipeline.operate("status")
                    #expect(status.code == 78 && status.notes.contains("pipeline migrate"))
                    // The tables, and the company's own data: catalog and links.
                    _ = try await TestDatabase.make(for: traffic, on: recoverable.server, named: setup.database)
                    try await pipeline.resetOffsets(of: [.verify], "--to-earliest")
                    #expect(await pipeline.operate("recover", "feed").code == 0)

                    try await pipeline.catchUp()
                }
            }
        }

        @Test func `a new cluster beside the same database doubles nothing`() async throws {
            try await Self.withServer { recoverable in
                let setup = Self.setup(recoverable.server)
                let traffic = try Self.traffic()
                try await RunningPipeline.run(setup, traffic) { pipeline in
                    try pipeline.startAll()
                    try await pipeline.publish(upTo: 1)
                    try await pipeline.settle()
                    try await pipeline.waitUntilPublished()
                    #expect(try await pipeline.endsOfAll() == [])
                }
                try await OwnBroker.lend(.real) { broker in try await Self.goOn(on: broker.cluster, setup, traffic) }
            }
        }

        @Test func `a group that was set back reports that its chains of dead letters restart`() async throws {
            var setup = PipelineSetup(.real)
            setup.partitions = 1
            try await RunningPipeline.run(setup, Self.traffic()) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(upTo: 0.4)
                try await pipeline.settle()
                let instant = Date().formatted(Self.dateFormat)
                try await pipeline.publish(upTo: 0.8)
                try await pipeline.settle()
                #expect(try await pipeline.endsOfAll() == [])
                #expect(try await pipeline.findingsOfChains() == [])
                try await pipeline.resetOffsets(of: [.verify], "--to-datetime=\(instant)")
                // The counts begin there, which reconcile reports until a person has stated it.
                #expect(await pipeline.operate("reconcile").code == 1)
                let stated = await pipeline.operate(
                    "account", "state", "--stage=verify", "--by=eva", "--reason=read before")
                #expect(stated.code == 0, "\(stated.notes)")

                try await pipeline.catchUp()
                #expect(try await pipeline.findingsOfChains() == ["restarted"])
            }
        }

        private static func goOn(on cluster: KafkaCluster, _ former: PipelineSetup, _ traffic: DemoTraffic) async throws
        {
            var setup = former
            setup.ownCluster = cluster
            try await RunningPipeline.run(setup, traffic) { pipeline in
                let before = try await pipeline.withDatabase { try await TableDigests($0) }
                // Deduplication knows the records that were in flight when the cluster was lost.
                #expect(await pipeline.operate("dedupe", "forget", "--all", "--yes").code == 0)
                try pipeline.startAll()
                #expect(await pipeline.operate("recover", "feed", "--republish").code == 0)
                try await pipeline.publish(upTo: 1)
                try await pipeline.settle()
                try await pipeline.waitUntilPublished()
                try await pipeline.expectRecovered()
                let after = try await pipeline.withDatabase { try await TableDigests($0) }
                #expect(after.changedTables(since: before) == [])
                try await pipeline.expectStatesPublished()
                #expect(try await pipeline.endsOfAll() == [])
            }
        }

        /// The only form that kafka-consumer-groups.sh takes.
        private static let dateFormat = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

        /// The minute before an instant such as `2026-03-02 12:00:05.5+00`, in the command's form.
        private static func minuteBefore(_ instant: String) -> String {
            let text = instant.prefix(19).replacingOccurrences(of: " ", with: "T") + "Z"
            let date = (try? Date(text, strategy: .iso8601)) ?? .now
            return date.addingTimeInterval(-60).formatted(dateFormat)
        }
    }
}

extension RunningPipeline {
    fileprivate func count(_ table: String) async throws -> Int64 {
        try await withDatabase { connection in try await connection.query("SELECT count(*) FROM \(table)")[0].int8(0) }
    }

    /// Starts the workers, publishes the rest, and expects that nothing is missing in the end.
    fileprivate func catchUp() async throws {
        try startAll()
        try await publish(upTo: 1)
        try await settle()
        try await expectRecovered()
        try await expectFeedComplete()
        #expect(try await endsOfAll() == [])
    }

    /// Expects the rows of an undisturbed run, and that the operators' tools find nothing.
    fileprivate func expectRecovered() async throws {
        try await expectReferenceReached()
        let plan = await operate("plan", "--facts")
        #expect(plan.code == 0, "\(plan.output)")
        let reconcile = await operate("reconcile")
        #expect(reconcile.code == 0, "\(reconcile.output)")
    }

    /// Expects the newest state of each user on the feed's compacted topic.
    fileprivate func expectStatesPublished() async throws {
        let users = try await withDatabase { connection in
            try await connection.query("SELECT user_id FROM user_versions").map { $0.text(0) }
        }
        let states = try await records(of: Topic.current).map { String(decoding: $0.key ?? [], as: UTF8.self) }
        #expect(Set(states) == Set(users))
    }
}
