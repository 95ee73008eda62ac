import Postgres
import TestSupport
import Testing

/// Texts of people and services that become keys of other tables.
@Suite(.timeLimit(.minutes(10))) struct IdentifierTests {
    /// Each inserts `$1` where an identifier belongs.
    private static let inserts = [
        """
        INSERT INTO account_links (kind, key, user_id)
        VALUES ('original_transaction_id', '1', $1)
        """,
        """
        INSERT INTO account_links (kind, key, user_id)
        VALUES ('original_transaction_id', $1, 'anna')
        """,
        """
        INSERT INTO account_links (kind, environment, key, user_id)
        VALUES ('original_transaction_id', $1 || 'x', '1', 'anna')
        """,
        "SELECT grant_entitlement($1, 'pro', NULL, 'sorry', 'support')",
        "SELECT grant_entitlement('anna', $1, NULL, 'sorry', 'support')",
        """
        INSERT INTO ledger_debits (user_id, environment, currency, reference, amount)
        VALUES ($1, 'Production', 'coins', 'order', 1)
        """,
        """
        INSERT INTO ledger_debits (user_id, environment, currency, reference, amount)
        VALUES ('anna', 'Production', 'coins', $1, 1)
        """,
    ]

    @Test(arguments: inserts)
    func `an identifier is 1 to 255 bytes without control characters`(
        _ insert: String
    ) async throws {
        let client = PostgresClient(
            try await PostgresServer.shared.migratedDatabase(),
            connectionsMax: 1
        )
        for text in [
            String(repeating: "a", count: 256), String(repeating: "ä", count: 128), "a\u{1b}[2J",
            "a\u{9b}", "a\n",
        ] {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await client.query(insert, [.text(text)])
            }
            #expect(error?.sqlState == SQLState("23514"))
        }
        _ = try await client.query(
            insert,
            [.text(String(repeating: "a", count: 254))]
        )
    }
}
