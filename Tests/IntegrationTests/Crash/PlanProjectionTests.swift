import Foundation
import Glibc
import JSON
import Kafka
import Postgres
import Records
import Simulation
import Store
import TestSupport
import Testing
import Topology

extension PipelineTests {
    /// A plan that is applied: its catalog is projected by `entitle-worker`, and its number is in the feed.
    @Suite(.timeLimit(.minutes(10))) struct PlanProjectionTests {
        private static let purchases: Int64 = 5_000

        @Test func `killed at any moment of its projection, an applied plan goes on and ends as planned`() async throws
        {
            let seed = UInt64.random(in: 1...9_999)
            var generator = SeededGenerator(seed: seed)
            let traffic = try DemoTraffic(seed: seed, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let plan = try await FollowedPlan(pipeline, purchases: Self.purchases)
                // The worker is stopped during the commit, and killed before it hears of it.
                plan.first.process.signal(SIGSTOP)
                #expect(await pipeline.operate("catalog", "apply", "--plan", "1").code == 0)
                try await plan.follow()
                try await pipeline.kill(plan.first)
                try await plan.follow()
                for undoing in [true, false] { try await plan.kill(undoing: undoing) }
                #expect(plan.done == 0)
                for page in 1...plan.total / plan.page + 1 {
                    let former = plan.done
                    let changes = try await plan.changes() + .random(in: 1...2_000, using: &generator)
                    try await plan.kill(undoing: true) { try await plan.changes() >= changes }
                    try await plan.kill(undoing: true)
                    #expect(plan.done == former)
                    try await plan.kill(undoing: false)
                    let next = min(page * plan.page, plan.total)
                    // The last purchase of a page may have one transaction more.
                    #expect((next...next + 1).contains(plan.done) && plan.done > former, "seed \(seed)")
                }
                try await plan.kill(undoing: true)
                try await plan.kill(undoing: false, isLast: true)
                let last = try pipeline.start(.entitle)
                try await pipeline.waitUntilReady()
                try await plan.expectEnd()
                #expect(last.metric("entitle_reprojected_purchases_total") == 0)
                try await pipeline.expectFeedComplete()
            }
        }

        @Test func `the feed and the history name the plan of a catalog, and none without a plan`() async throws {
            let traffic = try DemoTraffic(seed: 20, bodyCount: DemoTraffic.bodyCountMin)
            try await RunningPipeline.run(PipelineSetup(.mock), traffic) { pipeline in
                let plan = try await FollowedPlan(pipeline, purchases: 3)
                try await plan.gate.open()
                #expect(await pipeline.operate("catalog", "apply", "--plan", "1").code == 0)
                try await plan.waitUntilProjected(2)
                #expect(await pipeline.operate("catalog", "revert", "--yes").code == 0)
                try await plan.waitUntilProjected(3)
                try await pipeline.waitUntilPublished()
                let values = try await pipeline.records(of: Topic.changed).compactMap(\.value)
                let verdict = try PublishedSchema.topics.validate(values, against: Topic.changed)
                #expect(verdict.isValid, "\(verdict.report)")
                let causes = try values.compactMap { try JSONDocument(parsing: $0).root["cause"] }.map { cause in
                    "\(cause["catalogVersion"]?.int64 ?? 0) by \(cause["plan"]?.int64 ?? 0)"
                }
                #expect(causes.count == 15 && Set(causes) == ["1 by 0", "2 by 1", "3 by 0"], "\(causes)")
                for subject in [["user-1"], ["--transaction", "1"]] {
                    let end = await pipeline.operate(["explain"] + subject + ["--json"])
                    let changes = try #require(JSONDocument(parsing: Array(end.output.utf8)).root["changes"])
                    let history = changes.elements.map { change in
                        "\(change["catalog_version"]?.int64 ?? 0) by \(change["plan"]?.int64 ?? 0)"
                    }
                    #expect(history.count == 5 && Set(history) == Set(causes), "\(subject): \(history)")
                }
            }
        }
    }
}

/// A plan that renames a key, followed by `pipeline plan show` while the worker that projects it is killed.
private final class FollowedPlan {
    private let pipeline: RunningPipeline
    private let connection: PostgresConnection
    private let purchases: Int64
    /// Holds the statements that store the progress, once the plan is made.
    let gate: StatementGate
    /// The worker that projected the first catalog.
    let first: WorkerCopy
    /// Number of all transactions.
    let total: Int64
    /// Transactions after which the progress is stored.
    let page = Int64(CatalogProjection.soldCountMax)
    /// The progress that was shown last.
    private(set) var done: Int64 = 0

    init(_ pipeline: RunningPipeline, purchases: Int64) async throws {
        self.pipeline = pipeline
        self.purchases = purchases
        connection = try await PostgresConnection.connect(pipeline.database)
        total = try await Self.buy(purchases, connection)
        first = try pipeline.start(.entitle)
        try await Self.waitUntilProjected(1, connection)
        let file = "\(pipeline.folder)/catalog.json"
        let renaming = pipeline.traffic.catalog.replacing("[\"lifetime\"]", with: "[\"forever\"]")
        try renaming.write(toFile: file, atomically: true, encoding: .utf8)
        let planned = await pipeline.operate("plan", "--catalog", file, "--samples", "0")
        #expect(planned.code == 0 && planned.output.contains("would lose a key"), "\(planned)")
        gate = try await StatementGate("UPDATE ON catalog_projection", connection)
    }

    /// Purchases of 500 users, some with two transactions.
    private static func buy(_ count: Int64, _ connection: PostgresConnection) async throws -> Int64 {
        _ = try await connection.query(
            """
            INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule)
            SELECT 'Production', $1, number, 'user-' || number % 500, 'account_token'
            FROM generate_series(1, $2::int8) AS number
            """, [.text(DemoApp.pro.bundleID), .int8(count)])
        let bought = try await connection.query(
            """
            INSERT INTO transactions (environment, bundle_id, transaction_id, track, signed_date_ms, content_hash,
                trust, original_transaction_id, product_id, purchase_date_ms, product_type, quantity)
            SELECT 'Production', $1, concat(number, suffix), 'jws', 1, sha256('x'), 'apple', number, $3, 10, $4, 1
            FROM generate_series(1, $2::int8) AS number
            CROSS JOIN LATERAL unnest(CASE WHEN number % 7 = 0 THEN ARRAY['', '-2'] ELSE ARRAY[''] END) AS suffix
            """,
            [
                .text(DemoApp.pro.bundleID), .int8(count), .text(DemoProduct.lifetime.rawValue),
                .text(DemoProduct.lifetime.type),
            ])
        return Int64(bought.affectedCount)
    }

    func waitUntilProjected(_ version: Int64) async throws { try await Self.waitUntilProjected(version, connection) }

    private static func waitUntilProjected(_ version: Int64, _ connection: PostgresConnection) async throws {
        try await eventually("version \(version) is projected") {
            try await connection.query("SELECT version::int8 FROM catalog_projection")[0].int8(0) == version
        }
    }

    func changes() async throws -> Int64 {
        try await connection.query("SELECT count(*) FROM changes WHERE catalog_version = 2")[0].int8(0)
    }

    /// Starts a worker, and kills it when a statement waits at the gate or at another moment.
    ///
    /// - Parameter undoing: whether a statement at the gate fails instead of taking effect.
    func kill(undoing: Bool, isLast: Bool = false, at moment: (() async throws -> Bool)? = nil) async throws {
        let copy = try pipeline.start(.entitle)
        let isThere = try await becomesTrue(within: .seconds(60)) {
            if let moment { return try await moment() }
            return try await gate.isReached()
        }
        guard isThere else { throw PipelineFailure("\(copy.name) does not come to the moment") }
        try await follow()
        // Nothing of a former page is projected again.
        #expect(copy.metric("entitle_reprojected_purchases_total") ?? 0 <= Double(page))
        try await pipeline.kill(copy)
        try await gate.release(killed: copy.stage.program, undoing: undoing)
        guard !isLast else { return }
        try await gate.close()
        try await follow()
    }

    /// Reads how far the plan is, which is never less than before.
    func follow() async throws {
        let text = await pipeline.operate("plan", "show", "1").output
        let json = await pipeline.operate("plan", "show", "1", "--json").output
        let applied = try #require(JSONDocument(parsing: Array(json.utf8)).root["applied"])
        #expect(applied["is_projected"]?.bool == false && !text.contains("and projected"), "\(text)")
        guard let now = applied["transactions_done"]?.int64 else {
            #expect(done == 0 && text.contains("entitle-worker has not begun"), "\(text)")
            return
        }
        #expect((done...total).contains(now) && applied["transactions"]?.int64 == total, "\(json)")
        #expect(text.contains("version 2 is being projected") && text.contains(" transactions done"), "\(text)")
        done = now
    }

    /// Expects rows, changes and numbers as planned.
    func expectEnd() async throws {
        let shown = await pipeline.operate("plan", "show", "1")
        #expect(shown.output.contains("and projected: as planned"), "\(shown)")
        let changes = try await connection.query(
            """
            SELECT count(*), count(DISTINCT (user_id, original_transaction_id, entitlement_key))
            FROM changes WHERE catalog_version = 2
            """)[0]
        #expect(changes.int8(0) == 2 * purchases && changes.int8(1) == 2 * purchases)
        let rows = try await connection.query(
            "SELECT count(*), count(*) FILTER (WHERE entitlement_key = 'forever') FROM entitlements")[0]
        #expect(rows.int8(0) == purchases && rows.int8(1) == purchases)
    }
}
