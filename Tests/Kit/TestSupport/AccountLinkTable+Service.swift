package import Postgres
package import Store

/// Links as a company's own service writes them by SQL, also to a schema of the version before.
extension AccountLinkTable {
    private static let rows: Parameter<[AccountLink]> = .rows(
        "given",
        [
            Column("kind", \.kind), Column("key", \.key), Column("environment", \.environment),
            Column("bundle_id", \.bundleID), Column("user_id", \.userID),
        ])

    private static let put = Statement<[AccountLink], Void>(
        [rows],
        """
        INSERT INTO account_links AS known ($given.columns) SELECT * FROM $given
        ON CONFLICT (key, kind, environment, bundle_id) DO UPDATE SET user_id = excluded.user_id
        WHERE known.user_id <> excluded.user_id
        """)

    private static let drop = Statement<[AccountLink], Void>(
        [rows],
        """
        DELETE FROM account_links AS known USING $given
        WHERE (known.key, known.kind, known.environment, known.bundle_id)
            = (CASE given.kind WHEN 'account_token' THEN lower(given.key) ELSE given.key END, given.kind,
                given.environment, given.bundle_id)
        """)

    /// - Returns: the number of changed links.
    package static func put(_ links: some Collection<AccountLink>, on connection: PostgresConnection) async throws
        -> Int
    { try await connection.run(put, Array(links)).affectedCount }

    /// - Returns: the number of removed links.
    package static func drop(_ links: some Collection<AccountLink>, on connection: PostgresConnection) async throws
        -> Int
    { try await connection.run(drop, Array(links)).affectedCount }
}
