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

    /// A link that a person added, moved or removed.
    package struct Change: Sendable {
        package let kind: LinkKind
        package let key: Identifier
        /// The user before; `nil` without a link.
        package let formerUserID: Identifier?
        /// The user from now on; `nil` if the link was removed.
        package let userID: Identifier?
        /// Number of known purchases with this token or ID.
        package let purchases: Int64
    }

    /// The person who changes links, and the reason.
    package typealias Act = (by: String, reason: String)

    /// An error for links that name other users.
    package struct LinkedToOthers: Error { package let links: [Change] }

    /// Writes links in one transaction, and records who did it and why; a link that holds already is no change.
    ///
    /// Throws `LinkedToOthers`, and changes nothing, if a link names another user and `mayMove` is false.
    package static func add(
        _ links: some Collection<AccountLink>, mayMove: Bool, _ act: Act, on connection: PostgresConnection
    ) async throws -> [Change] {
        let request = Request(links: Array(links), act: act)
        return try await connection.transaction { connection in
            let added = try await connection.run(insert, request)
            let moved = Array(try await connection.run(move, request))
            if !mayMove, !moved.isEmpty { throw LinkedToOthers(links: moved) }
            return added + moved
        }
    }

    /// Removes links, and records who did it and why; a link to another user than the request's is kept.
    package static func remove(_ links: some Collection<AccountLink>, _ act: Act, on connection: PostgresConnection)
        async throws -> [Change]
    { Array(try await connection.run(remove, Request(links: Array(links), act: act))) }

    /// The filters of links to list; each is `nil` for all values.
    package typealias Selection = (kind: LinkKind?, key: Identifier?, userID: Identifier?, limit: Int)

    private static let key: Columns<AccountLink> = [
        Column("kind", \.kind), Column("environment", \.environment), Column("bundle_id", \.bundleID),
        Column("key", \.storedKey),
    ]

    private static let row = key + [Column("user_id", \.userID)]

    package struct Request: Sendable {
        fileprivate let links: [AccountLink]
        fileprivate let act: Act
    }

    private static let request: [Parameter<Request>] = [
        .rows("new", row, \.links), .value("by", \.act.by), .value("reason", \.act.reason),
    ]

    /// The links of a request; of several with the same key the last.
    private static let given = """
        (
            SELECT DISTINCT ON (\(key.names())) $new.columns
            FROM $new.arrays WITH ORDINALITY AS new ($new.columns, index)
            ORDER BY \(key.names()), index DESC
        ) AS given
        """

    /// - Parameter changed: the SQL of a relation with the key, the former and the new user of each changed link.
    private static func recording(_ changed: String) -> String {
        """
        INSERT INTO account_link_acts AS act (\(key.names()), former_user_id, user_id, acted_by, reason)
        SELECT \(key.names()), former_user_id, user_id, $by, $reason FROM \(changed)
        RETURNING act.kind, act.key, act.former_user_id, act.user_id, (
            SELECT count(*)
            FROM (
                SELECT environment, bundle_id, original_transaction_id FROM ownership_facts
                WHERE act.kind = 'account_token' AND account_token = act.key
                UNION
                SELECT environment, bundle_id, original_transaction_id FROM owners
                WHERE act.kind = 'app_transaction_id' AND app_transaction_id = act.key
                UNION
                SELECT environment, bundle_id, original_transaction_id FROM owners
                WHERE act.kind = 'original_transaction_id' AND original_transaction_id = act.key
            ) AS named
            WHERE act.environment IN ('', named.environment) AND act.bundle_id IN ('', named.bundle_id)
        ) AS purchases
        """
    }

    private static let change = RowReader(Change.init, "kind", "key", "former_user_id", "user_id", "purchases")

    /// Writes links without a record of who did it, in the session's own tables of a plan, which have no triggers.
    package static let put = Statement<[AccountLink], Void>(
        [.rows("new", row)],
        """
        WITH put AS (
            INSERT INTO account_links ($new.columns) SELECT $new.columns FROM \(given)
            ON CONFLICT (\(key.names())) DO UPDATE SET user_id = excluded.user_id
            RETURNING \(key.names())
        )
        INSERT INTO account_link_changes (\(key.names())) SELECT \(key.names()) FROM put
        """)

    static let insert = Statement<Request, Change>(
        request, returning: change,
        """
        WITH added AS (
            INSERT INTO account_links ($new.columns)
            SELECT $new.columns FROM \(given)
            ON CONFLICT DO NOTHING RETURNING $new.columns
        )
        \(recording("(SELECT added.*, NULL AS former_user_id FROM added) AS changed"))
        """)

    /// Changes the user of links that exist; locks them, so that the former user is the one that they name.
    static let move = Statement<Request, Change>(
        request, returning: change,
        """
        WITH others AS (
            SELECT \(key.names(of: "known")), known.user_id AS former_user_id, given.user_id
            FROM \(given) JOIN account_links AS known ON \(key.equal("known", "given"))
            WHERE known.user_id <> given.user_id
            FOR UPDATE OF known
        ), moved AS (
            UPDATE account_links AS known SET user_id = others.user_id, linked_at = now()
            FROM others WHERE \(key.equal("known", "others"))
        )
        \(recording("others"))
        """)

    static let remove = Statement<Request, Change>(
        request, returning: change,
        """
        WITH gone AS (
            DELETE FROM account_links AS known
            USING \(given)
            WHERE \(key.equal("known", "given")) AND given.user_id IN ('', known.user_id)
            RETURNING \(key.names(of: "known")), known.user_id AS former_user_id
        )
        \(recording("(SELECT gone.*, NULL AS user_id FROM gone) AS changed"))
        """)

    private static let selection: [Parameter<Selection>] = [
        .value("kind", \.kind), .value("key", \.key), .value("user", \.userID), .value("limit", \.limit),
    ]

    /// Lists links, ordered by user.
    package static let list = Statement<Selection, AccountLink>(
        selection, returning: RowReader(AccountLink.init, "kind", "key", "environment", "bundle_id", "user_id"),
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
    /// A row of `account_link_acts`.
    package struct Recorded: Sendable {
        package let at: StoredTime
        package let by: String
        package let reason: String
        package let formerUserID: Identifier?
        package let userID: Identifier?
        package let kind: LinkKind
        package let key: Identifier
        package let environment: String
        package let bundleID: Identifier
    }

    /// Lists what people did to links, the last first.
    package static let history = Statement<Selection, Recorded>(
        selection,
        returning: RowReader(
            Recorded.init, "acted_at", "acted_by", "reason", "former_user_id", "user_id", "kind", "key", "environment",
            "bundle_id"),
        """
        SELECT acted_at, acted_by, reason, former_user_id, user_id, kind, key, environment, bundle_id
        FROM account_link_acts
        WHERE ($kind IS NULL OR kind = $kind)
            AND ($key IS NULL
                OR key = CASE kind WHEN 'account_token' THEN lower($key) ELSE $key END)
            AND ($user IS NULL OR user_id = $user OR former_user_id = $user)
        ORDER BY act_id DESC LIMIT $limit
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
