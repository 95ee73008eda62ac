import AppStore
import Postgres
import TestSupport
import Testing

/// Texts of people and services that become keys of other tables.
@Suite(.timeLimit(.minutes(10))) struct IdentifierTests {
    /// Each inserts `$1` as an identifier.
    private static let inserts = [
        """
        INSERT INTO account_links (kind, key, user_id)
        VALUES ('original_transaction_id', '1', $1)
        """,
        """
        INSERT INTO account_links (kind, key, user_id)
        VALUES ('original_transaction_id', $1, 'anna')
        """, "SELECT grant_entitlement($1, 'pro', NULL, 'sorry', 'support')",
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

    @Test(arguments: inserts) func `an identifier is 1 to 255 bytes and looks like no other`(_ insert: String)
        async throws
    {
        let client = PostgresClient(try await PostgresServer.shared.migratedDatabase(), connectionsMax: 1)
        for text in [
            String(repeating: "a", count: 256), String(repeating: "ä", count: 128), "a\u{1b}[2J", "a\u{9b}", "a\n",
            "a ", "\u{a0}a", "a\u{202e}b",
        ] {
            let error = await #expect(throws: PostgresError.self) { _ = try await client.query(insert, [.text(text)]) }
            #expect(error?.sqlState == SQLState("23514"))
        }
        _ = try await client.query(insert, [.text(String(repeating: "a", count: 254))])
    }

    @Test func `the table takes the same texts as the workers and tools`() async throws {
        let client = PostgresClient(try await PostgresServer.shared.migratedDatabase(), connectionsMax: 1)
        // NUL cannot be sent, and unassigned code points may become blanks in one of them first.
        let scalars = (1...0x3100 as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init).filter {
            $0.properties.generalCategory != .unassigned
        }
        let texts = scalars.flatMap { ["\($0)", "\($0)a", "a\($0)", "a\($0)a"] }
        let rows = try await client.query(
            """
            SELECT is_identifier(text) FROM unnest($1::text[]) WITH ORDINALITY AS t (text, number)
            ORDER BY number
            """, [.textArray(texts)])
        #expect(rows.count == texts.count)
        for (text, row) in zip(texts, rows) where row.bool(0) != (Identifier(entering: text) != nil) {
            Issue.record("\(text.unicodeScalars.map { String($0.value, radix: 16) })")
        }
    }
}
