import Entitlements
import Kafka
import Postgres
import Records
import Store
import TestSupport
import Testing
import Topology
import Worker

@testable import DedupeStage
@testable import LinkStage

/// A database so slow that a whole batch never fits into a statement's deadline.
@Suite(.timeLimit(.minutes(10))) struct SlowDatabaseTests {
    private static let count = 60

    /// Each row written to the table takes 80 ms, and a statement 1 s at most: 12 rows.
    private static func client(slow table: String) async throws -> PostgresClient {
        var options = try await PostgresServer.shared.migratedDatabase()
        let connection = try await PostgresConnection.connect(options)
        try await connection.execute(
            script: """
                CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_sleep(0.08); RETURN NEW; END $$;
                CREATE TRIGGER slow BEFORE INSERT ON \(table)
                    FOR EACH ROW EXECUTE FUNCTION take_long()
                """)
        await connection.close()
        options.statementDeadline = .seconds(1)
        return PostgresClient(options, connectionsMax: 8)
    }

    /// Repeats the body while it misses a deadline, as the loop passes an unsettled batch to the
    /// stage again.
    private static func repeated<T>(_ body: () async throws -> T) async throws -> T {
        for _ in 0..<7 {
            do { return try await body() } catch let error as PostgresError where error.code == .deadlineExceeded {
                continue
            }
        }
        return try await body()
    }

    @Test func `a batch of facts is recorded in parts that fit, and the next ones fit at once`() async throws {
        let worker = try await EntitleWorker(on: try await Self.client(slow: "transactions"))
        let facts = try (0..<Self.count).map { try Signed.transaction("\($0)", signed: 1) }
        let verdicts = try await Self.repeated { try await worker.process(facts) }
        #expect(verdicts.allSatisfy { $0.disposition == .applied || $0.disposition == .unchanged })
        #expect(try await worker.count("transactions") == Int64(Self.count))
        let more = try (0..<Self.count).map { try Signed.transaction("x\($0)", signed: 1) }
        _ = try await worker.process(more)
        #expect(try await worker.count("transactions") == Int64(2 * Self.count))
    }

    @Test func `a batch of purchases is linked in parts that fit`() async throws {
        let worker = try await LinkWorker(on: try await Self.client(slow: "ownership_facts"))
        let records = try (0..<Self.count).map { Sample.purchase("\($0)", token: LinkWorker.anna) }.records(from: 0)
        let verdicts = try await Self.repeated { try await worker.stage.process(records) }
        #expect(verdicts.count == Self.count)
        let known = try await worker.client.query("SELECT count(*) FROM ownership_facts")
        #expect(known[0].int8(0) == Int64(Self.count))
    }

    @Test func `a batch of marks is remembered in parts that fit`() async throws {
        let client = try await Self.client(slow: "dedupe_revisions")
        let stage = DedupeStageTests.Reader.stage(on: client)
        let records = try (0..<Self.count).map { Sample.purchase("\($0)") }.records(from: 0)
        let verdicts = try await stage.process(records)
        try await Self.repeated { try await stage.acknowledged(records, verdicts) }
        let known = try await client.query("SELECT count(*) FROM dedupe_revisions")
        #expect(known[0].int8(0) == Int64(Self.count))
    }

    @Test func `one record that takes longer than the deadline is no dead letter`() async throws {
        let client = try await Self.client(slow: "transactions")
        _ = try await client.query(
            """
            CREATE OR REPLACE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$
            """)
        let worker = try await EntitleWorker(on: client)
        let verdicts = try await worker.process([try Signed.transaction("1", signed: 1)])
        let unstored = try #require(verdicts[0].heldBy as? UnstoredRecord)
        #expect(unstored.error.isTooSlow)
        #expect(unstored.description.contains("database.statement_deadline"))
    }

    @Test func `one record that takes longer than the deadline holds none of the others up`() async throws {
        let client = try await Self.client(slow: "transactions")
        _ = try await client.query(
            """
            CREATE OR REPLACE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NEW.transaction_id = '3' THEN PERFORM pg_sleep(30); END IF;
                RETURN NEW;
            END $$
            """)
        let worker = try await EntitleWorker(on: client)
        let facts = try (0..<6).map { try Signed.transaction("\($0)", signed: 1) }
        let verdicts = try await Self.repeated { try await worker.process(facts) }
        #expect(verdicts.map { $0.heldBy != nil } == (0..<6).map { $0 == 3 })
        #expect(try await worker.count("transactions") == 5)
    }
}
