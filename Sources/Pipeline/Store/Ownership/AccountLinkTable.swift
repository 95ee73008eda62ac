package import AppStore
import Entitlements
package import Postgres

/// The property by which a link names a user; the raw value is stored in the table.
package enum LinkKind: String, CaseIterable, TextColumnValue, Sendable {
    case accountToken = "account_token"
    case appTransactionID = "app_transaction_id"
    case originalTransactionID = "original_transaction_id"
}

/// An operator's statement that a token, an app transaction ID or an original transaction ID
/// belongs to a user.
package struct AccountLink: Hashable, Sendable {
    package var kind: LinkKind
    /// The token or ID; tokens are compared without regard to case.
    package var key: Identifier
    /// The environment; empty for any environment.
    package var environment: String
    /// The app; empty for any app.
    package var bundleID: Identifier
    /// The user; empty in a request to remove the link, regardless of its user.
    package var userID: Identifier

    package init(
        kind: LinkKind, key: Identifier, environment: String = "", bundleID: Identifier = "", userID: Identifier
    ) {
        self.kind = kind
        self.key = key
        self.environment = environment
        self.bundleID = bundleID
        self.userID = userID
    }

    /// The key as stored, so that two spellings of one token are one row.
    fileprivate var storedKey: Identifier { kind == .accountToken ? Identifier(key.text.lowercased()) : key }
}

/// The table `account_links`, which `link-worker` reads for every record of a purchase.
///
/// A trigger notifies `link-worker` of changes.
package enum AccountLinkTable {
    /// The channel on which writers of links and of owners notify `link-worker`.
    package static let channel = "account_links"

    /// Writes links; an existing link is changed to the new user, or left unchanged if it already
    /// names that user.
    ///
    /// - Returns: the number of changed links.
    package static func add(_ links: some Collection<AccountLink>, on connection: PostgresConnection) async throws
        -> Int
    { try await connection.run(add, Array(links)).affectedCount }

    /// Removes links; a link to another user than the request's is kept.
    ///
    /// - Returns: the number of removed links.
    package static func remove(_ links: some Collection<AccountLink>, on connection: PostgresConnection) async throws
        -> Int
    { try await connection.run(remove, Array(links)).affectedCount }

    /// The filters of links to list; each is `nil` for all values.
    package typealias Selection = (kind: LinkKind?, key: Identifier?, userID: Identifier?, limit: Int)

    private static let key: Columns<AccountLink> = [
        Column("kind", \.kind), Column("environment", \.environment), Column("bundle_id", \.bundleID),
        Column("key", \.storedKey),
    ]

    private static let row = key + [Column("user_id", \.userID)]

    static let add = Statement<[AccountLink], Void>(
        [.rows("new", row)],
        """
        INSERT INTO account_links AS known ($new.columns)
        SELECT DISTINCT ON (\(key.names())) $new.columns
        FROM $new.arrays WITH ORDINALITY AS new ($new.columns, index)
        ORDER BY \(key.names()), index DESC
        ON CONFLICT (key, kind, environment, bundle_id) DO UPDATE
            SET user_id = excluded.user_id, linked_at = now()
            WHERE known.user_id <> excluded.user_id
        """)

    static let remove = Statement<[AccountLink], Void>(
        [.rows("gone", row)],
        """
        DELETE FROM account_links AS known
        USING $gone
        WHERE \(key.equal("known", "gone")) AND gone.user_id IN ('', known.user_id)
        """)

    /// Lists links, ordered by user.
    package static let list = Statement<Selection, AccountLink>(
        [.value("kind", \.kind), .value("key", \.key), .value("user", \.userID), .value("limit", \.limit)],
        returning: RowReader(AccountLink.init, "kind", "key", "environment", "bundle_id", "user_id"),
        """
        SELECT kind, key, environment, bundle_id, user_id FROM account_links
        WHERE ($kind IS NULL OR kind = $kind)
            AND ($key IS NULL
                OR key = CASE kind WHEN 'account_token' THEN lower($key) ELSE $key END)
            AND ($user IS NULL OR user_id = $user)
        ORDER BY user_id, kind, key, environment, bundle_id LIMIT $limit
        """)
}

extension AccountLinkTable {
    /// The question which user a link names, in one app and environment.
    package typealias Question = (kind: LinkKind, environment: Environment, bundleID: Identifier, key: Identifier)

    /// The answer to a question; a question without a link has no answer.
    package struct Found: Sendable {
        /// The index of the question.
        package let index: Int
        package let userID: Identifier
    }

    /// The kinds of stored links, besides tokens.
    package static let kinds = Statement<Void, LinkKind>(
        returning: RowReader("kind"),
        [LinkKind.appTransactionID, .originalTransactionID].map { kind in
            """
            SELECT '\(kind.rawValue)' AS kind
            WHERE EXISTS (SELECT FROM account_links WHERE kind = '\(kind.rawValue)')
            """
        }.joined(separator: "\nUNION ALL\n"))

    /// Finds the users of links; a link with an environment and app takes precedence over one for any.
    package static let find = Statement<[Question], Found>(
        [
            .rows(
                "asked",
                [
                    .index, Column("kind", \.kind), Column("environment", \.environment),
                    Column("bundle_id", \.bundleID), Column("key", \.key),
                ])
        ], returning: RowReader(Found.init, "index", "user_id"),
        """
        SELECT asked.index, known.user_id
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT link.user_id FROM account_links AS link
            WHERE link.key = asked.key AND link.kind = asked.kind
              AND (link.environment = asked.environment OR link.environment = '')
              AND (link.bundle_id = asked.bundle_id OR link.bundle_id = '')
            ORDER BY link.environment DESC, link.bundle_id DESC
            LIMIT 1
        ) AS known
        """)
}
