package import Postgres

/// The table `account_links`, which `link-worker` asks with every record of a purchase; of what
/// changes in it a trigger tells `link-worker`.
package enum AccountLinkTable {
    /// Writes links; one that stands already is changed to the new user, and nothing is written
    /// where it names that user.
    ///
    /// - Returns: how many became different.
    package static func add(
        _ links: some Collection<AccountLink>,
        on connection: PostgresConnection
    ) async throws -> Int {
        let rows = try await connection.query(
            """
            INSERT INTO account_links AS known (kind, environment, bundle_id, key, user_id)
            SELECT DISTINCT ON (kind, environment, bundle_id, key)
                kind, environment, bundle_id, key, user_id
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                WITH ORDINALITY AS new (kind, environment, bundle_id, key, user_id, place)
            ORDER BY kind, environment, bundle_id, key, place DESC
            ON CONFLICT (key, kind, environment, bundle_id) DO UPDATE
                SET user_id = EXCLUDED.user_id, linked_at = now()
                WHERE known.user_id <> EXCLUDED.user_id
            """,
            parameters(links)
        )
        return rows.affectedCount
    }

    /// Removes links; one that names another user than the request's stays.
    ///
    /// - Returns: how many were removed.
    package static func remove(
        _ links: some Collection<AccountLink>,
        on connection: PostgresConnection
    ) async throws -> Int {
        let rows = try await connection.query(
            """
            DELETE FROM account_links AS known
            USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS gone (kind, environment, bundle_id, key, user_id)
            WHERE known.kind = gone.kind AND known.environment = gone.environment
                AND known.bundle_id = gone.bundle_id AND known.key = gone.key
                AND gone.user_id IN ('', known.user_id)
            """,
            parameters(links)
        )
        return rows.affectedCount
    }

    /// Links in the order of their users.
    ///
    /// - Parameters:
    ///   - kind: nil for all kinds.
    ///   - key: nil for all keys.
    ///   - userID: nil for all users.
    package static func list(
        kind: LinkKind?,
        key: String?,
        userID: String?,
        limit: Int,
        on connection: PostgresConnection
    ) async throws -> [AccountLink] {
        let rows = try await connection.query(
            """
            SELECT kind, key, environment, bundle_id, user_id FROM account_links
            WHERE ($1::text IS NULL OR kind = $1)
                AND ($2::text IS NULL
                    OR key = CASE kind WHEN 'account_token' THEN lower($2) ELSE $2 END)
                AND ($3::text IS NULL OR user_id = $3)
            ORDER BY user_id, kind, key, environment, bundle_id LIMIT $4
            """,
            [.text(kind?.rawValue), .text(key), .text(userID), .int8(Int64(limit))]
        )
        return rows.compactMap { row in
            LinkKind(row.text(0)).map { kind in
                AccountLink(
                    kind: kind,
                    key: row.text(1),
                    environment: row.text(2),
                    bundleID: row.text(3),
                    userID: row.text(4)
                )
            }
        }
    }

    private static func parameters(_ links: some Collection<AccountLink>) -> [PostgresValue] {
        [
            .textArray(links.map(\.kind.rawValue)), .textArray(links.map(\.environment)),
            .textArray(links.map(\.bundleID)), .textArray(links.map(\.storedKey)),
            .textArray(links.map(\.userID)),
        ]
    }
}

extension AccountLink {
    /// The key as the table holds it, so that two spellings of one token are one row.
    fileprivate var storedKey: String {
        kind == .accountToken ? key.lowercased() : key
    }
}
