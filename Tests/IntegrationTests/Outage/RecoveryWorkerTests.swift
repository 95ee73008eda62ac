import AppStore
import Foundation
import HTTP
import JSON
import Kafka
import Operations
import Postgres
import Records
import Simulation
import Store
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

extension PipelineTests {
    /// `recovery-worker` after an outage of the ingestion service.
    @Suite(.timeLimit(.minutes(20))) struct RecoveryWorkerTests {
        /// A third of the notifications meets a closed port for half a day; they are fetched before
        /// Apple's server tries again, and then come once more.
        @Test func `what ingestion has missed is fetched, and no row differs in the end`() async throws {
            let now = Int64(Date().timeIntervalSince1970 * 1_000)
            let traffic = try DemoTraffic(seed: 11, bodyCount: 500, now: now)
            var whole: RowPicture?
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(traffic.items)
                try await pipeline.settle()
                whole = try await pipeline.withDatabase { try await RowPicture($0) }
            }
            let wanted = try #require(whole)
            let lost = traffic.lostNotifications(now: now)
            #expect(lost.count > 20)
            let arrived = traffic.items.indices.filter { !lost.contains($0) }
            let apple = try SimulatedApple(traffic)
            defer { apple.stop() }
            let outage = try IngestionOutage(lost.map { traffic.items[$0] }, apple.server.world)
            defer { outage.end() }
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                try pipeline.startAll()
                try await pipeline.publish(arrived.map { traffic.items[$0] })
                async let sending: Void = outage.sender.run()
                await outage.last()
                try await pipeline.settle()
                let rows = try await pipeline.withDatabase { try await RowPicture($0) }
                #expect(rows != wanted)
                let begin = ContinuousClock.now
                try await Self.recover(pipeline, apple)
                #expect(ContinuousClock.now - begin < .seconds(600))
                try await Self.checkEquation(pipeline)
                try await Self.expect(wanted, pipeline)
                try await pipeline.publish(
                    outage.retries().map { ProducerRecord(topic: pipeline.layout.prefix + Topic.raw, value: $0) })
                await sending
                try await pipeline.settle()
                try await Self.expect(wanted, pipeline)
            }
        }

        private static func expect(_ wanted: RowPicture, _ pipeline: RunningPipeline) async throws {
            let differences = try await pipeline.withDatabase { try await RowPicture($0).differences(from: wanted) }
            #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
        }

        /// Everything that Apple lists is accounted for, and as many as were sent are held.
        private static func checkEquation(_ pipeline: RunningPipeline) async throws {
            let (counts, held) = try await pipeline.withDatabase { connection in
                (
                    Array(try await connection.run(AppleAccountTable.counts, .earliest)),
                    try await connection.query(
                        """
                        SELECT count(*) FROM notifications JOIN apple_notifications
                        USING (environment, uuid)
                        """)[0].int8(0)
                )
            }
            for count in counts { #expect(count.listed == count.held + count.ignored + count.deadLettered) }
            #expect(counts.reduce(0) { $0 + $1.held } == held && held > 100)
        }

        /// Kills the worker twice while it works, and waits until the account is complete.
        private static func recover(_ pipeline: RunningPipeline, _ apple: SimulatedApple) async throws {
            let since = Date(timeIntervalSinceNow: -170 * 86_400)
            let command = ["reconcile", "--with-apple", "--since", since.ISO8601Format()]
            #expect(await pipeline.operate(command).code == 1)
            for pages in [40, 120] {
                let worker = try pipeline.start(.recovery, environment: apple.environment)
                try await eventually {
                    try pipeline.requireRunning()
                    return apple.server.requests.count > pages
                }
                try await pipeline.kill(worker)
            }
            let worker = try pipeline.start(.recovery, environment: apple.environment)
            var answer = await pipeline.operate(command)
            try await eventually(within: .seconds(180), every: .milliseconds(500)) {
                try pipeline.requireRunning()
                answer = await pipeline.operate(command)
                // On its way is not held yet.
                return answer.code == 0 && worker.metric("recovery_open_notifications") == 0
            }
            #expect(answer.code == 0, "\(answer.output)\n\(worker.log.lines.suffix(5))")
            #expect(worker.sum("recovery_requests_total", #"result="ok""#) > 0)
            #expect(!worker.log.lines.joined().contains("eyJ"))
            try await Self.checkQuestions(pipeline)
            try await pipeline.stop(worker)
        }

        /// Asks as support does, about purchases that Apple knows and does not know.
        private static func checkQuestions(_ pipeline: RunningPipeline) async throws {
            let app = DemoApp.pro.bundleID
            let (id, user) = try await pipeline.withDatabase { connection in
                let row = try await connection.query(
                    """
                    SELECT fact.transaction_id, owners.user_id
                    FROM transactions AS fact JOIN owners
                    USING (environment, bundle_id, original_transaction_id)
                    WHERE fact.track = 'jws' AND fact.bundle_id = $1
                      AND fact.environment = 'Production' AND owners.user_id IN (
                        SELECT user_id FROM entitlements)
                    ORDER BY 1 LIMIT 1
                    """, [.text(app)])[0]
                return (row.text(0), row.text(1))
            }
            for (arguments, code) in [
                (["--order", "M\(id)", "--bundle", app], 0), (["--user", user], 0),
                (["--order", "M1", "--bundle", app], 1), (["--user", "nobody"], 1),
                // There are two apps.
                (["--order", "M\(id)"], 64),
            ] as [([String], Int32)] {
                let answer = await pipeline.operate(["recover", "apple"] + arguments)
                #expect(answer.code == code, "\(arguments): \(answer.output)\(answer.notes)")
            }
        }
    }
}

/// An ingestion service behind a closed port, and Apple's server that posts to it.
private final class IngestionOutage: Sendable {
    let sender: NotificationSender
    private let world: AppleWorld
    /// Stands still unless it is moved.
    private let clock = SimulatedClock(speed: 0)
    private let port: UInt16
    private let uuids: Set<String>
    private let bodies = Mutex<[[UInt8]]>([])
    private let server = Mutex<HTTPServer?>(nil)

    init(_ items: [DemoItem], _ world: AppleWorld) throws {
        let probe = try HTTPServer(address: "127.0.0.1", port: 0, limits: .standard) { _ in .text("") }
        port = probe.port
        probe.stop()
        self.world = world
        sender = NotificationSender(world, clock: clock, port: port)
        var uuids: Set<String> = []
        for item in items {
            let root = try item.value.map { try JSONDocument(parsing: $0).root }
            guard let jws = root?["signedPayload"]?.stringBytes,
                let uuid = NotificationPayload(unverified: jws)?.uuid?.string
            else { throw PipelineFailure("a lost item is no notification") }
            sender.send(jws)
            uuids.insert(uuid)
        }
        self.uuids = uuids
    }

    /// Waits until every notification has failed at once, after an hour and after thirteen.
    func last() async {
        for (attempts, hours) in [(1, 1), (2, 12), (3, 0)] {
            await eventually { hasTried(attempts) }
            clock.advance(by: .seconds(3600 * hours))
        }
    }

    private func hasTried(_ count: Int) -> Bool {
        uuids.allSatisfy { uuid in world.attempts(ofNotification: uuid).count { $0.result != .success } == count }
    }

    /// Opens the port, and waits for Apple's next attempts, a day after the last ones.
    func retries() async throws -> [[UInt8]] {
        let service = try HTTPServer(address: "127.0.0.1", port: port, limits: .standard) { [self] request in
            bodies.withLock { $0.append(request.body) }
            return .text("")
        }
        server.withLock { $0 = service }
        clock.advance(by: .seconds(24 * 3600))
        await eventually { sender.waitingCount == 0 }
        return bodies.withLock { $0 }
    }

    func end() { server.withLock { $0.take() }?.stop() }
}
