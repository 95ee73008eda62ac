import AppStore
import Foundation
import Kafka
import KitWrappers
import Postgres
import Records
import Simulation
import Store
import Synchronization
import TestSupport
import Testing
import Topology
import Worker

/// A database, a broker, Apple's simulated server, and a `recovery-worker` that is killed.
struct RecoveryCrashRig {
    let pipeline: RunningPipeline
    let apple: SimulatedApple
    let connection: PostgresConnection
    let gate: StatementGate?
    /// The setting by which the worker answers refund requests; nil if it finishes purchases instead.
    var consented: String?

    var world: AppleWorld { apple.server.world }

    /// - Parameter statement: the kind of statement at which the gate stands; nil without one.
    static func run(holding statement: String?, _ body: (RecoveryCrashRig) async throws -> Void) async throws {
        let apple = try SimulatedApple(
            AppleWorld(authority: CertificateAuthority()), apps: [.pro], setsAccountTokens: true)
        defer { apple.stop() }
        let traffic = try DemoTraffic(seed: 5, bodyCount: DemoTraffic.bodyCountMin)
        try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
            try await pipeline.withDatabase { connection in
                var gate: StatementGate?
                if let statement { gate = try await StatementGate(statement, connection) }
                try await body(RecoveryCrashRig(pipeline: pipeline, apple: apple, connection: connection, gate: gate))
            }
        }
    }

    /// Begins the job that reads all with a short window: a whole one has a request for each of 179
    /// days.
    func beginWindow(_ window: Range<Int64>) async throws {
        try await addJob("missed")
        try await addJob("complete", window: window)
    }

    /// Begins finishing purchases, and no other work.
    func beginFinishing() async throws {
        for job in ["missed", "complete"] { try await addJob(job) }
        let worker = try start()
        try await eventually {
            try await !values(of: "job", in: "recovery_windows WHERE finish_from_ms IS NOT NULL").isEmpty
        }
        try await pipeline.kill(worker)
    }

    /// - Parameter window: of a run in progress; nil if the job is never due.
    private func addJob(_ job: String, window: Range<Int64>? = nil) async throws {
        let bounds = [window?.lowerBound, window?.upperBound].map { bound in
            bound.map { PostgresValue.int8($0) } ?? .null
        }
        _ = try await connection.query(
            """
            INSERT INTO recovery_windows (environment, bundle_id, job, due_at, started_at,
                window_from_ms, window_until_ms, read_until_ms)
            SELECT 'Production', $1, $2, CASE WHEN begin IS NULL THEN 'infinity' ELSE now() END,
                   CASE WHEN begin IS NOT NULL THEN now() END, begin, $4::int8, begin
            FROM (SELECT $3::int8 AS begin) AS given
            """, [.text(DemoApp.pro.bundleID), .text(job)] + bounds)
    }

    /// Sells purchases of users of their own, whose tokens are due.
    func beginTokens(_ ids: Set<String>) async throws {
        try await beginFinishing()
        for id in ids {
            try world.sell(id)
            _ = try await connection.query(AppleWorld.storing(id, owner: "'user-\(id)'", purchased: 0))
        }
        let app = RecoveredApp(environment: .production, bundleID: Identifier(DemoApp.pro.bundleID))
        _ = try await connection.run(RecoveryRequestTable.addTokens, app)
        _ = try await connection.query("UPDATE recovery_requests SET due_at = now()")
    }

    /// Begins answering refund requests, and no other work.
    func beginReplying() async throws {
        for job in ["missed", "complete"] { try await addJob(job) }
        _ = try await connection.query("UPDATE recovery_windows SET refunds_from_ms = 0")
    }

    /// Asks for the refund of a purchase, as `entitle-worker` records it.
    func askRefund(_ id: String, _ connection: PostgresConnection) async throws {
        try world.sell(id, type: "Consumable")
        _ = try await connection.query(AppleWorld.storing(id, owner: "'user-\(id)'", purchased: 1_000))
        _ = try await connection.query(
            """
            WITH typed AS (UPDATE transactions SET product_type = 'Consumable' WHERE transaction_id = $1)
            INSERT INTO ledger (environment, bundle_id, transaction_id, currency, original_transaction_id, product_id,
                user_id, amount, purchase_date_ms)
            VALUES ('Production', $2, $1, 'coins', $1, 'p', 'user-' || $1, 100, 1000)
            """, [.text(id), .text(DemoApp.pro.bundleID)])
        _ = try await connection.query(
            """
            INSERT INTO notifications (environment, uuid, bundle_id, type, meaning, signed_date_ms,
                original_transaction_id, transaction_id, source_topic, source_partition, source_offset)
            VALUES ('Production', 'refund-' || $3, $1, 'CONSUMPTION_REQUEST', 'm', $2, $3, $3, 'raw', 0, 0)
            """, [.text(DemoApp.pro.bundleID), .int8(Int64(Date().timeIntervalSince1970 * 1_000)), .text(id)])
    }

    /// Kills a worker once the condition holds.
    func kill(once isReached: () async throws -> Bool) async throws {
        let worker = try start()
        try await eventually(within: .seconds(600), every: .milliseconds(200)) { try await isReached() }
        try await pipeline.kill(worker)
    }

    func sell(_ id: String, _ connection: PostgresConnection) async throws {
        try world.sell(id)
        _ = try await connection.query(AppleWorld.storing(id))
    }

    private func start() throws -> WorkerCopy {
        var environment = apple.environment
        environment["RECOVERY_FINISH"] = consented == nil ? "true" : nil
        if let consented, let apps = environment["APPS"] {
            let replies = #""refund_replies":{"consented":"\#(consented)","preference":"decline"},"#
            environment["APPS"] = "[{" + replies + apps.dropFirst(2)
        }
        return try pipeline.start(.recovery, environment: environment)
    }

    /// Lets a worker work until the condition holds.
    func work(until isOver: () async throws -> Bool) async throws {
        try await gate?.open()
        let worker = try start()
        try await eventually {
            try pipeline.requireRunning()
            return try await isOver()
        }
        try await pipeline.stop(worker)
    }

    /// Kills a worker whose statement waits at the gate.
    ///
    /// - Parameter undoing: whether the statement fails then; otherwise it takes effect.
    func killAtGate(undoing: Bool) async throws {
        let worker = try await startToGate()
        try await pipeline.kill(worker)
        try await gate?.release(killed: worker.stage.program, undoing: undoing)
        try await gate?.close()
    }

    private func startToGate() async throws -> WorkerCopy {
        let worker = try start()
        try await eventually("the worker is at the gate") {
            try pipeline.requireRunning()
            return try await gate?.isReached() ?? false
        }
        return worker
    }

    /// Kills a worker that has listed a page, with a broker that takes no record of it.
    func killPublishing() async throws {
        let worker = try await startToGate()
        try pipeline.cluster.mock?.takeDown()
        try await gate?.open()
        let listed = "apple_notifications WHERE published_at IS NULL"
        try await eventually("the page is listed") { try await !values(in: listed).isEmpty }
        try await pipeline.kill(worker)
        #expect(try await !values(in: listed).isEmpty)
        try pipeline.cluster.mock?.bringUp()
        try await gate?.close()
    }

    /// Kills a worker at one of its requests.
    ///
    /// - Parameters:
    ///   - number: of the request, from 1 on.
    ///   - fault: what Apple's server does with the request.
    func kill(asking endpoint: AppleEndpoint, _ number: Int, _ fault: AppleFault) async throws {
        let worker = Mutex<WorkerCopy?>(nil)
        let count = Atomic(0)
        apple.server.inject { request in
            guard request.endpoint == endpoint, count.add(1, ordering: .relaxed).newValue == number else { return nil }
            worker.withLock { $0?.process.kill() }
            return fault
        }
        let copy = try worker.withLock { worker in
            let copy = try start()
            worker = copy
            return copy
        }
        await eventually("the worker is killed") { !copy.process.isRunning }
        try await pipeline.kill(copy)
        apple.server.inject { _ in nil }
    }

    /// The distinct values of a column.
    func values(of column: String = "uuid", in rows: String) async throws -> Set<String> {
        Set(try await connection.query("SELECT \(column) FROM \(rows)").map { $0.text(0) })
    }

    /// The UUIDs of the notifications on the topic of raw records.
    func published() async throws -> Set<String> {
        Set(
            try await pipeline.records(of: Topic.raw).compactMap { record in
                let id = record.headers.first { $0.nameBytes == RecordHeader.correlationID }?.value
                let parts = id.map { String(decoding: $0, as: UTF8.self).split(separator: "/") }
                return parts.flatMap { $0.count == 4 ? String($0[2]) : nil }
            })
    }

    /// Expects every published notification to be listed, and every one that the cursor has passed
    /// to be published.
    func checkCursor() async throws {
        let published = try await published()
        #expect(try await published.isSubset(of: values(in: "apple_notifications")))
        let passed = try await values(
            in: """
                apple_notifications AS known
                JOIN recovery_windows AS job USING (bundle_id, environment)
                WHERE job.job = 'complete' AND (job.slices_left > 0 OR job.completed_at IS NOT NULL)
                  AND NOT EXISTS (
                    SELECT FROM recovery_slices AS slice
                    WHERE slice.job = 'complete' AND slice.bundle_id = known.bundle_id
                      AND signed_date_ms BETWEEN slice.from_ms AND slice.until_ms
                )
                """)
        #expect(passed.isSubset(of: published))
    }
}
