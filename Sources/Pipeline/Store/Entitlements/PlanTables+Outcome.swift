import Postgres

extension PlanTables {
    /// The changed rows of entitlements, and a number that two plans share if they do the same to the same users.
    package struct Digest: Sendable {
        package let entitlements: Int64
        package let users: String
    }

    /// Adds up a hash of each user, key and effect at the instants or from `now` on, and of each changed balance.
    package static let digest = Statement<(instants: [StoredTime], now: StoredTime), Digest>(
        [.values("instants", \.instants), .value("now", \.now)],
        returning: RowReader(Digest.init, "entitlements", "users"),
        """
        SELECT (SELECT count(*) FROM planned_rows) AS entitlements, coalesce(sum(hash), 0)::text AS users
        FROM (
            SELECT hashtextextended(row(environment, entitlement_key, user_id, instant, effect, loses)::text, 0) AS hash
            FROM (
                SELECT *, NOT planned @> (held * tstzmultirange(tstzrange($now, NULL))) AS loses FROM \(effects)
            ) AS concerned
            WHERE effect IS NOT NULL OR loses
            UNION ALL
            SELECT hashtextextended(row(environment, user_id, currency, sum(amount))::text, 1)
            FROM planned_credits GROUP BY environment, user_id, currency HAVING sum(amount) <> 0
        ) AS hashes
        """)

    /// Adds the rows that a catalog version has changed, with their periods before and after, and returns their number.
    package static let happened = Statement<Int64, Int64>(
        [.value("version")], returning: RowReader("entitlements"),
        """
        WITH added AS (
            INSERT INTO planned_rows (
                environment, bundle_id, original_transaction_id, entitlement_key, user_id, held, planned)
            SELECT environment, bundle_id, original_transaction_id, entitlement_key, user_id,
                   (array_agg(old_periods ORDER BY version))[1], (array_agg(new_periods ORDER BY version DESC))[1]
            FROM changes WHERE cause = 'catalog' AND catalog_version = $version
            GROUP BY environment, bundle_id, original_transaction_id, entitlement_key, user_id
            RETURNING 1
        )
        SELECT count(*) AS entitlements FROM added
        """)
}
