import AppStore
import Entitlements
import Postgres
import Store
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct LockTests {
    private let options: PostgresOptions
    private let client: PostgresClient

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        client = PostgresClient(options, connectionsMax: 4)
    }

    private static let lock = """
        SELECT lock_projection(
            array_fill('Production'::text, ARRAY[cardinality($1::text[])]), $1::text[])
        """

    @Test func `batches that name the same purchases in other orders never deadlock`() async throws {
        let purchases = (0..<200).map { String($0) }
        let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var attempts = 0
                    for _ in 0..<20 {
                        let shuffled = purchases.shuffled().map(Optional.init)
                        try await client.transaction { transaction in
                            attempts += 1
                            _ = try await transaction.query(Self.lock, [.textArray(shuffled)])
                        }
                    }
                    return attempts
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(attempts == 80)
    }

    @Test func `a purchase is locked until the end of the transaction`() async throws {
        let other = try await PostgresConnection.connect(options)
        let attempt: @Sendable (String) async throws -> Void = { purchase in
            try await other.transaction { transaction in
                try await transaction.execute(script: "SET LOCAL lock_timeout = 50")
                _ = try await transaction.query(Self.lock, [.textArray([purchase])])
            }
        }
        try await client.transaction { transaction in
            _ = try await transaction.query(Self.lock, [.textArray(["1", "2"])])
            let error = await #expect(throws: PostgresError.self) { try await attempt("2") }
            #expect(error?.sqlState == .lockNotAvailable)
            try await attempt("3")
        }
        try await attempt("2")
    }

    /// A change of owners and a projection never wait for each other.
    @Test func `a purchase's ownership is locked apart from its projection`() async throws {
        let other = try await PostgresConnection.connect(options)
        let purchases = [PurchaseScope(environment: .production, originalTransactionID: "1")]
        try await client.transaction { transaction in
            _ = try await transaction.run(Locks.projection, purchases)
            try await other.transaction { beside in
                try await beside.execute(script: "SET LOCAL lock_timeout = 50")
                _ = try await beside.run(Locks.ownership, purchases)
            }
            let error = await #expect(throws: PostgresError.self) {
                try await other.transaction { waiting in
                    try await waiting.execute(script: "SET LOCAL lock_timeout = 50")
                    _ = try await waiting.run(Locks.projection, purchases)
                }
            }
            #expect(error?.sqlState == .lockNotAvailable)
        }
    }

    @Test func `a user's lock is the one that debits take`() async throws {
        let other = try await PostgresConnection.connect(options)
        try await client.transaction { transaction in
            _ = try await transaction.query("SELECT lock_users($1)", [.textArray(["anna", nil])])
            let error = await #expect(throws: PostgresError.self) {
                try await other.transaction { waiting in
                    try await waiting.execute(script: "SET LOCAL lock_timeout = 50")
                    _ = try await waiting.query("SELECT ledger_debit('anna', 'gold', 1, 'x')")
                }
            }
            #expect(error?.sqlState == .lockNotAvailable)
        }
    }

    /// A statement that waits for a lock and then reads would use a snapshot from before the wait.
    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"]) func `a snapshot waits for no lock`(level: String)
        async throws
    {
        let calls = [
            "lock_in_order('{a}')", "lock_shared('links')", "wait_for_sharers('links')",
            "lock_accounts('{P}', '{b}', '{1}')", "lock_ownership('{P}', '{1}')", "lock_projection('{P}', '{1}')",
            "lock_users('{anna}')", "ledger_debit('anna', 'gold', 1, 'x')",
            "grant_entitlement('anna', 'pro', NULL, 'sorry', 'support')",
        ]
        for call in calls {
            let error = await #expect(throws: PostgresError.self) {
                try await client.transaction { transaction in
                    try await transaction.execute(script: "SET TRANSACTION ISOLATION LEVEL \(level); SELECT \(call)")
                }
            }
            #expect(error?.sqlState == SQLState("IL001"), "\(call)")
            #expect(error?.message.contains(level) == true, "\(call): \(error?.message ?? "")")
        }
    }

    /// A session that stays on SERIALIZABLE by its settings, as a database may prescribe.
    @Test func `a decision about dead letters is refused in a snapshot`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await client.withConnection { connection in
                try await connection.execute(
                    script: """
                        SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
                        INSERT INTO dead_letter_actions (dead_letter_id, who, action, why)
                        VALUES ('1', 'auditor', 'resolved', 'seen')
                        """)
            }
        }
        #expect(error?.sqlState == SQLState("IL001"))
    }

    @Test func `every function that locks requires READ COMMITTED first`() async throws {
        let functions = try await client.query(
            """
            SELECT proname::text, position('PERFORM require_read_committed()' IN prosrc) > 0
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace
              AND prosrc ~* 'advisory|lock table|for (no key )?update|for (key )?share'
            ORDER BY 1
            """)
        #expect(
            functions.map { $0.text(0) } == [
                "account_token_to_set", "announce_boundaries", "forget_user", "lock_in_order", "lock_shared",
                "wait_for_sharers",
            ])
        #expect(functions.allSatisfy { $0.bool(1) })
    }

    @Test func `deduplication forgets entries marked before an instant`() async throws {
        let rows = try await client.withConnection { connection in
            try await connection.execute(
                script: """
                    INSERT INTO dedupe_revisions (kind, environment, bundle_id, id, trust, track,
                        signed_date_ms, content_hash, marked_at)
                    SELECT 'transaction', 'Production', 'b', i::text, '', 'jws', 1, sha256('a'),
                        timestamptz '2026-01-01' + i * interval '1 day'
                    FROM generate_series(1, 10) AS i;
                    INSERT INTO dedupe_notifications VALUES ('Production', 'u', '2025-01-01');
                    """)
            return try await connection.pipeline([
                PostgresStatement("SELECT dedupe_prune('2026-01-05', 1, 9)"),
                PostgresStatement("SELECT count(*) FROM dedupe_revisions"),
                PostgresStatement("SELECT dedupe_prune('2026-01-05', 0, 1)"),
                PostgresStatement("SELECT count(*) FROM dedupe_revisions"),
                PostgresStatement("SELECT count(*) FROM dedupe_notifications"),
            ])
        }
        // All rows lie in page 0.
        #expect(!rows[0][0].bool(0))
        #expect(rows[1][0].int8(0) == 10)
        #expect(!rows[2][0].bool(0))
        #expect(rows[3][0].int8(0) == 7)
        #expect(rows[4][0].int8(0) == 0)
    }
}
