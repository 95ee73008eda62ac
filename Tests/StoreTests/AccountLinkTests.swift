import Postgres
import TestSupport
import Testing

@Suite struct AccountLinkTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    private func changes() async throws -> [String] {
        try await connection.query(
            "SELECT kind || ' ' || key FROM account_link_changes ORDER BY id"
        )
        .map { $0.text(0) }
    }

    @Test func `a token is linked in lower case, other keys as they are`() async throws {
        try await connection.execute(
            script: """
                INSERT INTO account_links (kind, key, user_id) VALUES
                    ('account_token', '9F0C-AB', 'anna'), ('app_transaction_id', 'AbC', 'bob')
                """
        )
        let rows = try await connection.query("SELECT key FROM account_links ORDER BY user_id")
        #expect(rows.map { $0.text(0) } == ["9f0c-ab", "AbC"])
    }

    @Test func `the nil UUID cannot be linked as a token`() async throws {
        let nilUUID = "00000000-0000-0000-0000-000000000000"
        let statements = [
            "INSERT INTO account_links (kind, key, user_id) VALUES ('account_token', $1, 'anna')",
            "UPDATE account_links SET kind = 'account_token' WHERE key = $1",
        ]
        try await connection.execute(
            script: """
                INSERT INTO account_links (kind, key, user_id)
                VALUES ('app_transaction_id', '\(nilUUID)', 'bob')
                """
        )
        for statement in statements {
            await #expect(throws: PostgresError.self) {
                _ = try await connection.query(statement, [.text(nilUUID)])
            }
        }
    }

    @Test(arguments: [
        "account_links (kind, key, user_id) VALUES ('account_token', 'k', $1)",
        "account_links (kind, key, user_id) VALUES ('account_token', $1, 'anna')",
        "account_links (kind, bundle_id, key, user_id) VALUES ('account_token', $1, 'k', 'anna')",
        "grants (environment, user_id, entitlement_key, periods, granted_by, reason) "
            + "VALUES ('Production', $1, 'pro', tstzmultirange(tstzrange(now(), NULL)), 'a', 'b')",
        "grants (environment, user_id, entitlement_key, periods, granted_by, reason) "
            + "VALUES ('Production', 'anna', $1, tstzmultirange(tstzrange(now(), NULL)), 'a', 'b')",
        "ledger_debits (user_id, reference, environment, currency, amount) "
            + "VALUES ($1, 'r', 'Production', 'coins', 1)",
        "ledger_debits (user_id, reference, environment, currency, amount) "
            + "VALUES ('anna', $1, 'Production', 'coins', 1)",
    ])
    func `texts too long for an index, and control characters, are refused on entry`(
        insertion: String
    ) async throws {
        let bad = [
            String(repeating: "a", count: 256), String(repeating: "é", count: 128), "anna\n",
            "\u{1}", "an\u{7f}na", "anna\u{85}",
        ]
        for text in bad {
            await #expect(throws: PostgresError.self, "\(text.utf8.count) bytes") {
                _ = try await connection.query("INSERT INTO \(insertion)", [.text(text)])
            }
        }
        _ = try await connection.query(
            "INSERT INTO \(insertion)",
            [.text("zoë 🦊" + String(repeating: "a", count: 245))]
        )
    }

    @Test func `every change is recorded, and its listeners are notified`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "account_links")
        let statements = [
            "INSERT INTO account_links (kind, key, user_id) VALUES ('account_token', 'A', 'anna')",
            "UPDATE account_links SET user_id = 'bob'",
            "UPDATE account_links SET key = 'B'",
            "DELETE FROM account_links",
        ]
        for statement in statements {
            try await connection.execute(script: statement)
            #expect(try await listener.notifications(deadline: .seconds(10)).count == 1)
        }
        try await connection.execute(script: "DELETE FROM account_links")
        #expect(try await listener.notifications(deadline: .milliseconds(20)).isEmpty)
        let noted = try await changes()
        #expect(noted.prefix(2) == ["account_token a", "account_token a"])
        #expect(noted[2..<4].sorted() == ["account_token a", "account_token b"])
        #expect(noted[4...] == ["account_token b"])
    }

    @Test func `the listeners are notified of a new catalog`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "catalog")
        try await connection.execute(
            script: "INSERT INTO catalog_versions (content, content_sha256) "
                + "VALUES ('{}', sha256('{}'))"
        )
        let notified = try await listener.notifications(deadline: .seconds(10))
        #expect(notified.map(\.payload) == ["1"])
    }
}
