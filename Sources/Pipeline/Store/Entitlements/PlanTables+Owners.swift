package import AppStore

extension PlanTables {
    /// The owners of a plan.
    package enum Owners: Sendable {
        /// The stored ones.
        case kept
        /// The owners by other links or rules.
        case linked
        /// The owners without the links, claims and tokens of a user, by other links or rules.
        case forgotten
    }

    static let ownOfOwners = ["planned_scopes", "planned_forgetting"]

    /// The tables in whose place a view omits the forgotten user.
    static let viewed = ["ownership_facts", "ownership_renewals", "ownership_claims", "ownership_restores"]

    static let createLinking =
        [
            """
            CREATE TEMPORARY TABLE planned_scopes AS
                SELECT original_transaction_id, environment FROM transactions WITH NO DATA;
            ALTER TABLE pg_temp.planned_scopes ADD PRIMARY KEY (original_transaction_id, environment);
            CREATE TEMPORARY TABLE planned_forgetting AS
                SELECT user_id, user_id AS token FROM account_links WITH NO DATA;
            """
        ] + viewed.map { "CREATE TEMPORARY VIEW present_\($0) AS SELECT * FROM \($0);" }

    /// Views as `forget_user` leaves the tables; the token is NULL unless tokens are user IDs.
    static let createForgetting =
        [
            withoutToken("ownership_facts", OwnershipFactTables.factColumns),
            withoutToken("ownership_renewals", OwnershipFactTables.renewalColumns),
        ]
        + ["ownership_claims", "ownership_restores"].map { table in
            """
            CREATE TEMPORARY VIEW \(table) AS SELECT * FROM present_\(table)
                WHERE user_id IS DISTINCT FROM (SELECT user_id FROM planned_forgetting);
            """
        }

    /// Two branches, so that a token is still found by the table's index.
    private static func withoutToken(_ table: String, _ columns: [String]) -> String {
        let others = columns.filter { $0 != "account_token" }.joined(separator: ", ")
        return """
            CREATE TEMPORARY VIEW \(table) AS
                SELECT \(others), account_token FROM present_\(table)
                WHERE (account_token = (SELECT token FROM planned_forgetting)) IS NOT TRUE
                UNION ALL
                SELECT \(others), NULL::text COLLATE "C" FROM present_\(table)
                WHERE account_token = (SELECT token FROM planned_forgetting);
            """
    }

    /// The numbers of removed links, claims and tokens, as of `ForgottenUserTable.Forgotten`.
    package struct Forgotten: Sendable {
        package let links: Int64
        package let claims: Int64
        package let tokens: Int64
    }

    /// Removes what names a user, as `forget_user` does, in the session's own tables.
    package static let forget = Statement<Identifier, Forgotten>(
        [.value("user") { $0 }], returning: RowReader(Forgotten.init, "links", "claims", "tokens"),
        """
        WITH forgotten AS (
            INSERT INTO planned_forgetting (user_id, token)
            SELECT $user, CASE WHEN tokens_are_user_ids THEN lower($user) END FROM linking_rules
            RETURNING token
        ), links AS (
            DELETE FROM account_links WHERE user_id = $user RETURNING kind, environment, bundle_id, key
        ), claims AS (
            SELECT 'original_transaction_id', environment, bundle_id, original_transaction_id
            FROM present_ownership_claims WHERE user_id = $user
            UNION ALL
            SELECT 'original_transaction_id', environment, bundle_id, original_transaction_id
            FROM present_ownership_restores WHERE user_id = $user
        ), tokens AS (
            SELECT 'original_transaction_id', environment, bundle_id, original_transaction_id
            FROM forgotten JOIN present_ownership_facts ON account_token = token
            UNION ALL
            SELECT 'original_transaction_id', environment, '', original_transaction_id
            FROM forgotten JOIN present_ownership_renewals ON account_token = token
        ), changed AS (
            INSERT INTO account_link_changes (kind, environment, bundle_id, key)
            SELECT * FROM links UNION SELECT * FROM claims UNION SELECT * FROM tokens
        )
        SELECT (SELECT count(*) FROM links) AS links, (SELECT count(*) FROM claims) AS claims,
               (SELECT count(*) FROM tokens) AS tokens
        """)

    /// Adds the purchases with other owners to the concerned ones.
    package static let concernOwned = Statement(
        """
        INSERT INTO planned_scopes (environment, original_transaction_id)
        SELECT environment, original_transaction_id
        FROM owners AS planned
        LEFT JOIN present_owners AS present USING (original_transaction_id, environment, bundle_id)
        WHERE (planned.user_id, planned.spans::text) IS DISTINCT FROM (present.user_id, present.spans::text)
        ON CONFLICT DO NOTHING
        """)

    /// Adds the purchases in stacks of which an entry was added, removed or changed.
    package static let concernStacked = Statement(
        """
        INSERT INTO planned_scopes (environment, original_transaction_id)
        SELECT environment, original_transaction_id
        FROM stacked_purchases JOIN (
            SELECT user_id, environment, bundle_id FROM (
                (TABLE stacked_purchases EXCEPT TABLE present_stacked_purchases)
                UNION ALL
                (TABLE present_stacked_purchases EXCEPT TABLE stacked_purchases)
            ) AS moved
        ) AS holders USING (user_id, environment, bundle_id)
        ON CONFLICT DO NOTHING
        """)

    /// The next concerned purchases, in the order of their IDs.
    package static let concerned = Statement<AllPurchases.Window, PurchaseScope>(
        [
            .value("original", \.after.originalTransactionID), .value("environment", \.after.environment),
            .value("count_max", \.countMax),
        ], returning: PurchaseScope.reader,
        """
        SELECT environment, original_transaction_id FROM planned_scopes
        WHERE (original_transaction_id, environment) > ($original, $environment)
        ORDER BY original_transaction_id, environment LIMIT $count_max
        """)

    /// The concerned ones of given purchases.
    package static let concernedAmong = PurchaseScope.read(PurchaseScope.reader, from: "planned_scopes")
}
