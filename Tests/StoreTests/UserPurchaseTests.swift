import AppStore
import Entitlements
import Postgres
import TestSupport
import Testing

@testable import Store

/// The purchases that `pipeline recover apple --user` asks about.
@Suite struct UserPurchaseTests {
    private let connection: PostgresConnection

    init() async throws { connection = try await PostgresConnection.connect(PostgresServer.shared.migratedDatabase()) }

    private func purchases(_ environment: Environment = .production) async throws -> [String] {
        try await connection.run(UserPurchases.all, ("anna", environment)).map {
            "\($0.bundleID) \($0.originalTransactionID)"
        }
    }

    private static let token = "7e3f2a10-52c0-4f53-9ab5-1fd1c1b0c6aa"

    /// A fact about the owner of a purchase, of one transaction.
    private static func fact(_ id: String, token: String = "NULL") -> String {
        """
        INSERT INTO ownership_facts (environment, bundle_id, original_transaction_id,
            transaction_id, track, signed_date_ms, content_hash, trust, purchase_date_ms,
            account_token)
        VALUES ('Production', 'app', '\(id)', '\(id)', 'jws', 1, sha256(''), 'apple', 1, \(token));
        """
    }

    private static func owner(_ id: String, _ user: String, account: String = "NULL") -> String {
        """
        INSERT INTO owners (environment, bundle_id, original_transaction_id, user_id, rule,
            app_transaction_id)
        VALUES ('Production', 'app', '\(id)', '\(user)', 'link', \(account));
        """
    }

    private static func link(_ kind: String, _ key: String, bundle: String = "") -> String {
        """
        INSERT INTO account_links (kind, environment, key, user_id, bundle_id)
        VALUES ('\(kind)', 'Production', '\(key)', 'anna', '\(bundle)');
        """
    }

    @Test(arguments: [
        "INSERT INTO entitlements VALUES ('Production', 'app', '1', 'pro', 'anna', '{[2020-01-01,)}')",
        fact("1", token: "'anna'"), link("account_token", token) + fact("1", token: "'\(token)'"),
        link("account_token", token) + fact("1") + """
            INSERT INTO ownership_renewals (environment, original_transaction_id, trust,
                signed_date_ms, content_hash, account_token)
            VALUES ('Production', '1', 'apple', 1, sha256(''), '\(token)')
            """, link("original_transaction_id", "1") + fact("1"), link("original_transaction_id", "1", bundle: "app"),
        link("app_transaction_id", "a") + owner("1", "anna", account: "'a'"),
        """
        INSERT INTO ownership_claims (environment, bundle_id, original_transaction_id,
            transaction_id, purchase_date_ms, raw_timestamp_ms, raw_partition, raw_offset,
            user_id)
        VALUES ('Production', 'app', '1', '1', 1, 1, 0, 0, 'anna')
        """, "INSERT INTO ownership_restores VALUES ('Production', 'app', '1', '1', 1, 1, 0, 0, 'anna')",
    ]) func `a purchase that any table names as the user's is found`(rows: String) async throws {
        #expect(try await purchases() == [])
        try await connection.execute(script: rows)
        #expect(try await purchases() == ["app 1"])
        #expect(try await purchases(.sandbox) == [])
        await connection.close()
    }

    @Test func `a purchase of the same Apple Account is found if it is the user's`() async throws {
        try await connection.execute(
            script: Self.fact("1", token: "'anna'") + Self.owner("1", "anna", account: "'a'")
                + Self.owner("2", "anna", account: "'a'") + Self.owner("3", "bob", account: "'a'")
                + Self.owner("4", "anna", account: "'b'"))
        #expect(try await purchases() == ["app 1", "app 2"])
        await connection.close()
    }
}
