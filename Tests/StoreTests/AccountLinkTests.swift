import Postgres
import TestSupport
import Testing

@testable import Store

@Suite struct AccountLinkTests {
    private let options: PostgresOptions
    private let connection: PostgresConnection

    init() async throws {
        options = try await PostgresServer.shared.migratedDatabase()
        connection = try await PostgresConnection.connect(options)
    }

    private func changes() async throws -> [String] {
        try await connection.query("SELECT kind || ' ' || key FROM account_link_changes ORDER BY id").map { $0.text(0) }
    }

    private static let token = "7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa"
    private static let other = "00000000-52c0-4f53-9ab5-1fd1c1b0c6aa"

    @Test(arguments: [
        token, token.uppercased(), "{\(token)}", "{\(token.uppercased())}", token.filter { $0 != "-" },
        "{\(token.filter { $0 != "-" })}",
    ]) func `a token is stored as link-worker looks for it, other keys as they are`(spelling: String) async throws {
        for kind in ["account_token", "app_transaction_id"] {
            _ = try await connection.query(
                "INSERT INTO account_links (kind, key, user_id) VALUES ($1, $2, 'anna')",
                [.text(kind), .text(spelling)])
        }
        let rows = try await connection.query("SELECT key FROM account_links ORDER BY kind")
        #expect(rows.map { $0.text(0) } == [Self.token, spelling])
        _ = try await connection.query("UPDATE account_links SET key = $1", [.text(spelling)])
        let again = try await connection.query("SELECT key FROM account_links ORDER BY kind")
        #expect(again.map { $0.text(0) } == [Self.token, spelling])
    }

    @Test(arguments: ["zz", "{\(token)", "\(token)}", "user-17", "\(token)0", "{}", "9f0c-ab"])
    func `a text that is no UUID cannot be linked as a token`(text: String) async throws {
        await #expect {
            _ = try await connection.query(
                "INSERT INTO account_links (kind, key, user_id) VALUES ('account_token', $1, 'a')", [.text(text)])
        } throws: { error in
            let error = error as? PostgresError
            return error?.sqlState?.code == "23514" && error?.description.contains(text) == false
        }
    }

    @Test func `tokens that were stored otherwise are found after the upgrade`() async throws {
        let options = try await PostgresServer.shared.emptyDatabase()
        let connection = try await PostgresConnection.connect(options)
        let migrations = try PostgresServer.migrations.migrations()
        _ = try await Migrator(Array(migrations.prefix(13))).run(on: connection)
        try await connection.execute(
            script: """
                INSERT INTO account_links (kind, key, user_id, environment) VALUES
                    ('account_token', '{\(Self.token)}', 'anna', ''),
                    ('account_token', '{\(Self.other)}', 'bob', ''),
                    ('account_token', '\(Self.other)', 'carl', ''),
                    ('account_token', '{00000000-0000-0000-0000-000000000000}', 'dora', ''),
                    ('account_token', 'no token', 'emil', ''),
                    ('app_transaction_id', '{\(Self.token)}', 'fred', '')
                """)
        _ = try await Migrator(migrations).run(on: connection)
        let rows = try await connection.query("SELECT user_id || ' ' || key FROM account_links ORDER BY user_id")
        #expect(
            rows.map { $0.text(0) } == [
                "anna \(Self.token)", "bob {\(Self.other)}", "carl \(Self.other)",
                "dora {00000000-0000-0000-0000-000000000000}", "emil no token", "fred {\(Self.token)}",
            ])
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
                """)
        for statement in statements {
            await #expect(throws: PostgresError.self) { _ = try await connection.query(statement, [.text(nilUUID)]) }
        }
    }

    @Test(arguments: [
        "account_links (kind, key, user_id) VALUES ('original_transaction_id', 'k', $1)",
        "account_links (kind, key, user_id) VALUES ('app_transaction_id', $1, 'anna')",
        "account_links (kind, bundle_id, key, user_id) VALUES ('app_transaction_id', $1, 'k', 'anna')",
        "grants (environment, user_id, entitlement_key, periods, granted_by, reason) "
            + "VALUES ('Production', $1, 'pro', tstzmultirange(tstzrange(now(), NULL)), 'a', 'b')",
        "grants (environment, user_id, entitlement_key, periods, granted_by, reason) "
            + "VALUES ('Production', 'anna', $1, tstzmultirange(tstzrange(now(), NULL)), 'a', 'b')",
        "ledger_debits (user_id, reference, environment, currency, amount) "
            + "VALUES ($1, 'r', 'Production', 'coins', 1)",
        "ledger_debits (user_id, reference, environment, currency, amount) "
            + "VALUES ('anna', $1, 'Production', 'coins', 1)",
    ]) func `texts too long for an index, and control characters, are refused on entry`(insertion: String) async throws
    {
        let bad = [
            String(repeating: "a", count: 256), String(repeating: "é", count: 128), "anna\n", "\u{1}", "an\u{7f}na",
            "anna\u{85}",
        ]
        for text in bad {
            await #expect(throws: PostgresError.self, "\(text.utf8.count) bytes") {
                _ = try await connection.query("INSERT INTO \(insertion)", [.text(text)])
            }
        }
        _ = try await connection.query(
            "INSERT INTO \(insertion)", [.text("zoë 🦊" + String(repeating: "a", count: 245))])
    }

    @Test func `every change is recorded, and its listeners are notified`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "account_links")
        let statements = [
            "INSERT INTO account_links (kind, key, user_id) VALUES ('app_transaction_id', 'a', 'anna')",
            "UPDATE account_links SET user_id = 'bob'", "UPDATE account_links SET key = 'b'",
            "DELETE FROM account_links",
        ]
        for statement in statements {
            try await connection.execute(script: statement)
            #expect(try await listener.notifications(deadline: .seconds(10)).count == 1)
        }
        try await connection.execute(script: "DELETE FROM account_links")
        #expect(try await listener.notifications(deadline: .milliseconds(20)).isEmpty)
        let noted = try await changes()
        #expect(noted.prefix(2) == ["app_transaction_id a", "app_transaction_id a"])
        #expect(noted[2..<4].sorted() == ["app_transaction_id a", "app_transaction_id b"])
        #expect(noted[4...] == ["app_transaction_id b"])
    }

    @Test func `the listeners are notified of a new catalog`() async throws {
        let listener = try await PostgresConnection.connect(options)
        try await listener.listen(to: "catalog")
        try await connection.execute(
            script: "INSERT INTO catalog_versions (content, content_sha256) VALUES ('{}', sha256('{}'))")
        let notified = try await listener.notifications(deadline: .seconds(10))
        #expect(notified.map(\.payload) == ["1"])
    }
}
