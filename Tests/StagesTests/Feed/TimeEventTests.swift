import AppStore
import Entitlements
import JSON
import Kafka
import Postgres
import Store
import TestSupport
import Testing
import Worker

@testable import EntitleStage

/// Events that time alone causes: periods that begin or end without a new fact.
@Suite(.timeLimit(.minutes(10))) struct TimeEventTests {
    private static let anna = Ownership(userID: "anna", rule: .accountToken)

    /// A worker with an owned purchase "1".
    private static func worker() async throws -> EntitleWorker {
        let worker = try await EntitleWorker()
        try await worker.own([Signed.key("1"): anna])
        return worker
    }

    /// Adds the row of a purchase, with periods in seconds from now.
    private static func hold(_ worker: EntitleWorker, _ user: String, _ purchase: String, _ spans: (Double, Double)...)
        async throws
    {
        let periods = spans.map { "tstzrange(\(instant($0.0)), \(instant($0.1)))" }.joined(separator: ", ")
        _ = try await worker.client.query(
            """
            INSERT INTO entitlements (environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
            VALUES ('Production', 'app', $2, 'pro', $1, tstzmultirange(\(periods)))
            """, [.text(user), .text(purchase)])
    }

    private static func instant(_ seconds: Double) -> String {
        "date_trunc('milliseconds', clock_timestamp() + interval '\(seconds) s')"
    }

    /// Makes each boundary of all rows due, as if no copy had run since before them.
    private static func absent(_ worker: EntitleWorker) async throws {
        for table in ["entitlements", "grants"] {
            _ = try await worker.client.query("UPDATE \(table) SET next_boundary = lower(periods)")
        }
    }

    @Test func `the end of a period is announced once, when PostgreSQL's clock has reached it`() async throws {
        let worker = try await Self.worker()
        let end = try await worker.now() + 400
        _ = try await worker.process([try Signed.transaction("1", signed: 1, expires: end)])
        #expect(try await worker.published().changes.map(\.version) == [1])
        var published = try await worker.announced()
        try await eventually {
            if published.isEmpty { published = try await worker.announced() }
            return !published.isEmpty
        }
        let change = try #require(published.changes.first)
        #expect(published.changes.map(\.label) == ["anna 2"])
        #expect(change.value["changedAt"]?.int64 ?? 0 >= end)
        let cause = change.value["cause"]
        #expect([cause?["kind"]?.string, cause?["event"]?.string] == ["time", "period_ended"])
        let text = try await worker.client.query("SELECT instant_text(timestamptz_from_ms($1))", [.int8(end)])
        #expect(cause?["id"]?.string == text[0].text(0))
        for periods in ["old", "new"] {
            #expect(change.value[periods]?.elements.compactMap { $0["end"]?.int64 } == [end])
        }
        #expect(published.states.map(\.label) == ["anna 2"])
        for topic in ["entitlements.changed", "entitlements.current"] {
            let values = published.records.filter { $0.topic == "storekit.\(topic)" }.compactMap(\.value)
            let verdict = try PublishedSchema.topics.validate(values, against: topic)
            #expect(verdict.isValid, "\(verdict.report)")
        }
        #expect(try await worker.announced().isEmpty)
        #expect(try await worker.rowsByHistory() == worker.rows())
    }

    @Test func `a period that begins later is announced twice, and one without an end never`() async throws {
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (0.2, 0.4))
        _ = try await worker.client.query("SELECT grant_entitlement('anna', 'extra', NULL, 'sorry', 'support')")
        var events: [String] = []
        try await eventually {
            events += try await worker.announced().events
            return events.count >= 3
        }
        #expect(events == ["- grant", "1 period_began", "1 period_ended"])
        #expect(try await worker.client.query("SELECT FROM grants WHERE next_boundary IS NULL").count == 1)
    }

    @Test func `a billing grace that begins is announced, and access goes on with its status`() async throws {
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (-9, 3600))
        _ = try await worker.client.query(
            """
            UPDATE entitlements SET is_in_billing_retry = true,
                grace = tstzrange(\(Self.instant(0.3)), upper(periods))
            """)
        var published: [Published.Item] = []
        try await eventually {
            published += try await worker.announced().changes
            return !published.isEmpty
        }
        #expect(published.map(\.event) == ["1 grace_began"])
        let change = try #require(published.first).value
        #expect(change["isActive"]?.bool == true && change["isInBillingRetry"]?.bool == true)
        #expect(change["grace"]?["end"]?.int64 == change["activeUntil"]?.int64)
        #expect(try await worker.announced().isEmpty)
    }

    @Test func `a grant ends by itself, and one that was revoked before does not`() async throws {
        let worker = try await Self.worker()
        for key in ["kept", "revoked"] {
            _ = try await worker.client.query(
                "SELECT grant_entitlement('anna', '\(key)', \(Self.instant(0.3)), 'sorry', 'support')")
        }
        _ = try await worker.client.query("SELECT revoke_grant(2, 'by mistake', 'support')")
        var published: [Published.Item] = []
        try await eventually {
            published += try await worker.announced().changes
            return published.contains { $0.value["cause"]?["kind"]?.string == "time" }
        }
        _ = try await worker.client.query("SELECT pg_sleep(0.4)")
        published += try await worker.announced().changes
        #expect(published.map(\.version) == [1, 2, 3, 4])
        let events = published.filter { $0.value["cause"]?["event"]?.string == "period_ended" }
        #expect(events.map { $0.value["entitlement"]?.string } == ["kept"])
        #expect(events.first?.value["originalTransactionID"]?.isNull == true)
    }

    @Test(arguments: ["before the end", "after it", "after its event"])
    func `a renewal moves the end, unless it was announced before`(moment: String) async throws {
        let worker = try await Self.worker()
        let end = try await worker.now() + 300
        _ = try await worker.process([try Signed.transaction("1", signed: 1, expires: end)])
        func pass() async throws { try await eventually { try await worker.now() > end } }
        if moment != "before the end" { try await pass() }
        if moment == "after its event" {
            #expect(try await worker.announced().events == ["- transaction", "1 period_ended"])
        }
        let renewal = try Signed.transaction("2", signed: 2, original: "1", purchased: end, expires: end + 3_600_000)
        _ = try await worker.process([renewal])
        try await pass()
        let rest = moment == "after its event" ? ["- transaction"] : ["- transaction", "- transaction"]
        #expect(try await worker.announced().events == rest)
        #expect(try await worker.usersWithBrokenVersions().isEmpty)
    }

    @Test func `a due boundary stays due if another period is added, and not if its own is taken away`() async throws {
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (-2, -1))
        try await Self.hold(worker, "anna", "2", (-2, -1))
        try await Self.absent(worker)
        _ = try await worker.client.query(
            """
            UPDATE entitlements SET periods = CASE original_transaction_id
                WHEN '1' THEN periods + tstzmultirange(tstzrange(\(Self.instant(60)), NULL))
                ELSE tstzmultirange(tstzrange(lower(periods), \(Self.instant(60)))) END
            """)
        #expect(try await worker.announced().events == ["1 period_began", "2 period_began", "1 period_ended"])
    }

    @Test func `after an absence the events come in the order of their instants`() async throws {
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (-9, -6), (-3, -1))
        try await Self.hold(worker, "anna", "2", (-8, -4))
        try await Self.hold(worker, "bob", "3", (-7, -2))
        try await Self.absent(worker)
        #expect(try await worker.client.run(OutboxTable.backlog)[0].boundaryDelaySeconds > 8)
        let published = try await worker.announced()
        let anna = published.changes.filter { $0.userID == "anna" }
        #expect(anna.map(\.version) == [1, 2, 3, 4, 5, 6])
        #expect(
            anna.map(\.event) == [
                "1 period_began", "2 period_began", "1 period_ended", "2 period_ended", "1 period_began",
                "1 period_ended",
            ])
        #expect(published.changes.count == 8)
        #expect(try await worker.client.run(OutboxTable.backlog)[0].boundaryDelaySeconds == 0)
    }

    @Test func `an end is announced before, once, and again after a renewal`() async throws {
        let client = try await StageDatabase.make()
        let worker = try await EntitleWorker(expiryNotice: .seconds(60), on: client)
        try await Self.hold(worker, "anna", "1", (-9, 3600))
        try await Self.hold(worker, "anna", "2", (-9, 30))
        try await Self.hold(worker, "anna", "3", (30, 40))
        #expect(try await worker.announced().events == ["2 ends_soon"])
        #expect(try await worker.announced().isEmpty)
        _ = try await client.query(
            "UPDATE entitlements SET periods = tstzmultirange(tstzrange(lower(periods), \(Self.instant(50))))")
        #expect(try await worker.announced().events == ["1 ends_soon", "2 ends_soon"])
        _ = try await client.query("UPDATE entitlements SET periods = periods, seats = 1")
        #expect(try await worker.announced().isEmpty)
        // Copies without the setting announce the ends alone.
        #expect(try await EntitleWorker(on: client).announced().isEmpty)
    }

    @Test func `copies that race announce each boundary once, without gaps`() async throws {
        let worker = try await Self.worker()
        for number in 0..<200 { try await Self.hold(worker, "user-\(number % 50)", "\(number)", (-2, -1)) }
        _ = try await worker.client.query(
            "UPDATE entitlements SET next_boundary = lower(periods) WHERE user_id < 'user-3'")
        try await worker.client.transaction { connection in
            #expect(try await connection.run(BoundaryColumns.announce, (rowsMax: 20, notice: .zero))[0] >= 20)
            // Another copy takes none of these, and does not wait for the commit.
            try await worker.stage.outboxes[0].empty { _ in }
            #expect(try await worker.count("entitlements WHERE next_boundary IS NOT NULL") >= 20)
        }
        _ = try await worker.client.query(
            "UPDATE entitlements SET next_boundary = lower(periods) WHERE user_id >= 'user-3'")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    let copy = try await EntitleWorker(on: worker.client)
                    try await eventually {
                        try await copy.stage.outboxes[0].empty { _ in }
                        return try await worker.count("changes") == 400
                    }
                }
            }
            try await group.waitForAll()
        }
        let events = "SELECT DISTINCT original_transaction_id, event FROM changes WHERE cause = 'time'"
        #expect(try await worker.client.query(events).count == 400)
        #expect(try await worker.count("changes") == 400)
        #expect(try await worker.usersWithBrokenVersions().isEmpty)
    }

    @Test func `a killed copy's boundaries are announced by the next, and published ones repeat version and ID`()
        async throws
    {
        struct Killed: Error {}
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (-2, -1))
        try await Self.absent(worker)
        await #expect(throws: Killed.self) {
            try await worker.client.transaction { connection in
                #expect(try await connection.run(BoundaryColumns.announce, (rowsMax: 9, notice: .zero))[0] == 1)
                throw Killed()
            }
        }
        #expect(try await worker.count("changes") == 0)
        try await worker.stage.outboxes[0].empty { _ in }
        let sent = try Published(try await worker.killedWhilePublishing())
        try await worker.endLease()
        let repeated = try await EntitleWorker(on: worker.client).announced()
        #expect(sent.changes.map(\.event) == ["1 period_began", "1 period_ended"])
        #expect(repeated.changes.map(\.label) == sent.changes.map(\.label))
        #expect(
            repeated.changes.map { $0.value["cause"]?["id"]?.string }
                == sent.changes.map { $0.value["cause"]?["id"]?.string })
    }

    @Test func `a user whose rows are being changed delays nobody else`() async throws {
        let worker = try await Self.worker()
        try await Self.hold(worker, "anna", "1", (-2, -1))
        try await Self.hold(worker, "bob", "2", (-2, -1))
        try await Self.absent(worker)
        try await worker.client.transaction { transaction in
            _ = try await transaction.run(Locks.users, ["anna"])
            #expect(try await worker.announced().changes.map(\.userID) == ["bob", "bob"])
            _ = try await transaction.query(
                "UPDATE entitlements SET periods = tstzmultirange(tstzrange(lower(periods), NULL)) WHERE user_id = 'anna'"
            )
        }
        #expect(try await worker.announced().events == ["1 period_began"], "its end was moved before")
    }

    @Test func `a row that PostgreSQL refuses delays nobody else`() async throws {
        let worker = try await Self.worker()
        for user in ["anna", "bob", "carl"] { try await Self.hold(worker, user, user, (-2, -1)) }
        try await Self.absent(worker)
        _ = try await worker.client.query(
            "ALTER TABLE entitlements ADD CONSTRAINT own CHECK (user_id <> 'bob') NOT VALID")
        let users = try await worker.announced().changes.map(\.userID)
        #expect(users.sorted() == ["anna", "anna", "carl", "carl"])
        #expect(try await worker.client.run(OutboxTable.backlog)[0].boundaryDelaySeconds > 0)
        _ = try await worker.client.query("ALTER TABLE entitlements DROP CONSTRAINT own")
        #expect(try await worker.announced().events == ["bob period_began", "bob period_ended"])
    }

    @Test func `announcing beside projections and grants ends in no deadlock`() async throws {
        let worker = try await EntitleWorker()
        for number in 0..<40 {
            try await worker.own([
                Signed.key("\(number)"): Ownership(userID: Identifier("user-\(number % 8)"), rule: .accountToken)
            ])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for copy in 0..<2 {
                group.addTask {
                    let own = try await EntitleWorker(shards: 2, on: worker.client)
                    for round in 1...12 {
                        let end = try await own.now() + 40
                        _ = try await own.process(
                            try (0..<40).shuffled().map {
                                try Signed.transaction("\($0)", signed: Int64(round * 2 + copy), expires: end)
                            })
                    }
                }
                group.addTask {
                    for round in 0..<12 {
                        _ = try await worker.client.query(
                            """
                            SELECT grant_entitlement('user-\(round % 8)', 'extra', clock_timestamp() + interval '30 ms',
                                'sorry', 'support')
                            """)
                    }
                }
                group.addTask {
                    let own = try await EntitleWorker(on: worker.client)
                    for _ in 0..<60 { try await own.stage.outboxes[0].empty { _ in } }
                }
            }
            try await group.waitForAll()
        }
        let deadlocks = try await worker.client.query(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        #expect(deadlocks[0].int8(0) == 0)
        // An end that is past when it is written is no event, so the last one is far enough ahead of a slow machine.
        let last = try await worker.now() + 2_000
        _ = try await worker.process(try (0..<40).map { try Signed.transaction("\($0)", signed: 100, expires: last) })
        try await eventually {
            try await worker.stage.outboxes[0].empty { _ in }
            return try await worker.client.query("SELECT FROM entitlements WHERE next_boundary IS NOT NULL").isEmpty
        }
        #expect(try await worker.usersWithBrokenVersions().isEmpty)
        // Every end that a row has was announced, once, and no other end twice.
        let ends = try await worker.client.query(
            """
            SELECT held.original_transaction_id, count(change.event)
            FROM entitlements AS held LEFT JOIN changes AS change
                ON change.user_id = held.user_id
                AND change.original_transaction_id = held.original_transaction_id
                AND change.event = 'period_ended' AND change.cause_id = instant_text(upper(held.periods))
            GROUP BY 1
            """)
        #expect(ends.map { $0.int8(1) } == Array(repeating: 1, count: 40))
        let repeated = try await worker.client.query(
            """
            SELECT original_transaction_id, grant_id, cause_id FROM changes WHERE event = 'period_ended'
            GROUP BY 1, 2, 3 HAVING count(*) > 1
            """)
        #expect(repeated.isEmpty)
    }

    @Test func `rows from before the migration are announced from its instant on`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let connection = try await PostgresConnection.connect(options)
        let migrations = try PostgresServer.migrations.migrations()
        let number = try #require(migrations.first { $0.name == "boundaries" }?.version)
        _ = try await Migrator(migrations.filter { $0.version < number }).run(on: connection)
        try await connection.execute(
            script: """
                INSERT INTO entitlements (environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods)
                SELECT 'Production', 'app', original, 'pro', 'anna', tstzmultirange(tstzrange(
                    clock_timestamp() - interval '1 day', clock_timestamp() + until))
                FROM (VALUES ('past', interval '-1 s'), ('soon', '3 s'), ('later', '1 day')) AS held (original, until)
                """)
        _ = try await Migrator(migrations).run(on: connection)
        let worker = try await EntitleWorker(on: PostgresClient(options, connectionsMax: 2))
        // The workers begin after the end.
        _ = try await connection.query(
            "SELECT pg_sleep_until(upper(periods)) FROM entitlements WHERE original_transaction_id = 'soon'")
        #expect(try await worker.announced().events == ["soon period_ended"])
        let later = try await connection.query(
            "SELECT original_transaction_id FROM entitlements WHERE next_boundary = upper(periods)")
        #expect(later.map { $0.text(0) } == ["later"])
        await connection.close()
    }
}

extension EntitleWorker {
    /// PostgreSQL's clock in milliseconds.
    func now() async throws -> Int64 {
        try await client.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8")[0].int8(0)
    }

    /// Adds the events that are due, and publishes.
    fileprivate func announced() async throws -> Published {
        try await stage.outboxes[0].empty { _ in }
        return try await published()
    }
}

extension Published { fileprivate var events: [String] { changes.map(\.event) } }

extension Published.Item {
    /// The purchase and its event; for other changes a dash and the cause.
    fileprivate var event: String {
        guard let event = value["cause"]?["event"]?.string else { return "- \(value["cause"]?["kind"]?.string ?? "")" }
        return "\(value["originalTransactionID"]?.string ?? "") \(event)"
    }
}
