package import AppStore
package import Entitlements
package import Postgres

/// Temporary tables of one session, in which the server collects what a plan would change and counts users.
///
/// A transaction that only reads may write temporary tables; no other session sees or waits for them.
package enum PlanTables {
    /// Creates the tables; no transaction may have begun.
    ///
    /// All statements of the session then use copies of tables in the place of the schema's.
    ///
    /// - Parameter hasOwners: whether `owners` and `account_links` have copies, beside `stacked_purchases`.
    package static func create(hasOwners: Bool = false, on connection: PostgresConnection) async throws {
        let script = """
            DROP TABLE IF EXISTS pg_temp.planned_rows, pg_temp.planned_credits, pg_temp.planned_access;
            CREATE TEMPORARY TABLE planned_rows AS
                SELECT environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods
                FROM entitlements WITH NO DATA;
            CREATE TEMPORARY TABLE planned_credits AS
                SELECT environment, user_id, currency, amount FROM ledger WITH NO DATA;
            CREATE TEMPORARY TABLE planned_access AS
                SELECT environment, entitlement_key, user_id, periods AS held, periods AS planned
                FROM entitlements WITH NO DATA;
            """
        let copies = copied(hasOwners).map { table in
            """
            DROP VIEW IF EXISTS pg_temp.present_\(table);
            DROP TABLE IF EXISTS pg_temp.\(table);
            CREATE TEMPORARY VIEW present_\(table) AS SELECT * FROM \(table);
            CREATE TEMPORARY TABLE \(table) (LIKE \(table) INCLUDING ALL);
            """
        }
        try await connection.execute(script: ([script] + copies).joined(separator: "\n"))
    }

    private static func copied(_ hasOwners: Bool) -> [String] {
        ["stacked_purchases"] + (hasOwners ? ["owners", "account_links"] : [])
    }

    /// Fills the copies, in the transaction of a snapshot.
    package static func copy(hasOwners: Bool, on connection: PostgresConnection, deadline: Duration) async throws {
        let script = copied(hasOwners).map { "INSERT INTO pg_temp.\($0) SELECT * FROM present_\($0);" }
        try await connection.execute(script: script.joined(separator: "\n"), deadline: deadline)
    }

    /// Adds changed rows with the periods that they would have.
    package static let addRows = Statement<[ChangeTable.Row], Void>(
        [
            .rows(
                "new",
                PurchaseKey.columns.of(\.purchase) + [
                    Column("entitlement_key", \.change.key), Column("user_id", \.change.userID),
                    Column("periods", \.change.new),
                ])
        ], "INSERT INTO planned_rows ($new.columns) SELECT * FROM $new")

    package static let addCredits = Statement<[LedgerTable.Difference], Void>(
        [
            .rows(
                "new",
                [
                    Column("environment", \.environment), Column("user_id", \.userID), Column("currency", \.currency),
                    Column("amount", \.amount),
                ])
        ], "INSERT INTO planned_credits ($new.columns) SELECT * FROM $new")

    /// Joins the periods of each user and key of a changed row, from all purchases and grants, as they are and as
    /// they would be.
    package static let join = Statement(
        """
        INSERT INTO planned_access
        WITH touched AS (SELECT DISTINCT environment, entitlement_key, user_id FROM planned_rows)
        SELECT environment, entitlement_key, user_id,
               coalesce(range_agg(span) FILTER (WHERE is_held), '{}'),
               coalesce(range_agg(span) FILTER (WHERE is_planned), '{}')
        FROM (
            SELECT touched.*, span, true AS is_held, planned.user_id IS NULL AS is_planned
            FROM touched
            JOIN entitlements AS held USING (environment, entitlement_key, user_id)
            LEFT JOIN planned_rows AS planned
                USING (environment, bundle_id, original_transaction_id, entitlement_key, user_id)
            CROSS JOIN LATERAL unnest(held.periods) AS span
            UNION ALL
            SELECT environment, entitlement_key, user_id, span, false, true
            FROM planned_rows CROSS JOIN LATERAL unnest(periods) AS span
            UNION ALL
            SELECT touched.*, span, true, true
            FROM touched JOIN grants AS held USING (environment, entitlement_key, user_id)
            CROSS JOIN LATERAL unnest(held.periods) AS span
        ) AS spans
        GROUP BY environment, entitlement_key, user_id
        """)
}

/// The effect of a plan on a user's key at an instant.
package enum PlannedEffect: String, CaseIterable, TextColumnValue, Sendable {
    case lost
    case gained
    /// The access ends earlier.
    case earlier
    /// The access ends later, or no more.
    case later
}

extension PlanTables {
    private static let instants = Parameter<[StoredTime]>.values("instants") { $0 }

    /// Each user and key at each of `$instants`; `effect` is NULL if nothing changes there.
    private static let effects = """
        (
            SELECT access.*, instant, CASE
                WHEN held @> instant AND NOT planned @> instant THEN 'lost'
                WHEN planned @> instant AND NOT held @> instant THEN 'gained'
                WHEN NOT held @> instant THEN NULL
                WHEN coalesce(active_until(planned, instant), 'infinity')
                    < coalesce(active_until(held, instant), 'infinity') THEN 'earlier'
                WHEN coalesce(active_until(planned, instant), 'infinity')
                    > coalesce(active_until(held, instant), 'infinity') THEN 'later'
            END AS effect
            FROM planned_access AS access CROSS JOIN unnest($instants) AS instant
        ) AS access
        """

    /// The number of users with one effect at an instant.
    package struct Count: Sendable {
        package let instant: StoredTime
        package let effect: PlannedEffect
        /// The environment and the key.
        ///
        /// `nil` for the number of users with this effect under any key.
        package let environment: String?
        package let key: Identifier?
        package let users: Int64
    }

    /// Maximum counts by key, the largest first.
    package static let countsMax = 1_000

    package static let counts = Statement<[StoredTime], Count>(
        [instants], returning: RowReader(Count.init, "instant", "effect", "environment", "entitlement_key", "users"),
        """
        SELECT instant, effect, environment, entitlement_key,
               count(DISTINCT (access.environment, user_id)) AS users
        FROM \(effects)
        WHERE effect IS NOT NULL
        GROUP BY GROUPING SETS ((instant, effect), (instant, effect, environment, entitlement_key))
        ORDER BY entitlement_key IS NOT NULL, users DESC, environment, entitlement_key, instant, effect
        LIMIT \(countsMax)
        """)

    /// Number of users who lose a key for any time after an instant.
    package static let losingCount = Statement<StoredTime, Int64>(
        [.value("instant")], returning: RowReader("users"),
        """
        SELECT count(DISTINCT (environment, user_id)) AS users FROM planned_access
        WHERE NOT planned @> (held * tstzmultirange(tstzrange($instant, NULL)))
        """)

    package struct Sample: Sendable {
        package let effect: PlannedEffect
        package let instant: StoredTime
        package let environment: String
        package let key: Identifier
        package let userID: Identifier
        package let held: PeriodSet
        package let planned: PeriodSet
    }

    package typealias Sampling = (instants: [StoredTime], userID: Identifier?, countMax: Int)

    /// The first users of each effect, each at the first instant of the effect.
    package static let samples = Statement<Sampling, Sample>(
        [.values("instants", \.instants), .value("user", \.userID), .value("count_max", \.countMax)],
        returning: RowReader(
            Sample.init, "effect", "instant", "environment", "entitlement_key", "user_id", "held", "planned"),
        """
        SELECT effect, instant, environment, entitlement_key, user_id, held, planned FROM (
            SELECT *, row_number() OVER (
                PARTITION BY effect ORDER BY environment, entitlement_key, user_id
            ) AS number
            FROM (
                SELECT DISTINCT ON (effect, environment, entitlement_key, user_id) *
                FROM \(effects)
                WHERE effect IS NOT NULL AND ($user IS NULL OR user_id = $user)
                ORDER BY effect, environment, entitlement_key, user_id, instant
            ) AS firsts
        ) AS numbered
        WHERE number <= $count_max
        ORDER BY effect DESC, number
        """)

    /// The changed purchases of a sample.
    package static let purchases = Statement<(environment: String, key: Identifier, userID: Identifier), PurchaseKey>(
        [.value("environment", \.environment), .value("key", \.key), .value("user", \.userID)],
        returning: PurchaseKey.reader,
        """
        SELECT original_transaction_id, environment, bundle_id FROM planned_rows
        WHERE environment = $environment AND entitlement_key = $key AND user_id = $user
        ORDER BY bundle_id, original_transaction_id LIMIT 10
        """)

    /// The changes of all balances in one currency.
    package struct Balances: Sendable {
        package let environment: String
        package let currency: Identifier
        package let users: Int64
        package let credited: Int64
        package let debited: Int64
        /// Number of users whose balance would fall below zero.
        package let overdrawn: Int64
    }

    package static let balances = Statement<Void, Balances>(
        returning: RowReader(Balances.init, "environment", "currency", "users", "credited", "debited", "overdrawn"),
        """
        SELECT environment, currency, count(*) AS users,
               least(sum(greatest(amount, 0)), 9223372036854775807)::bigint AS credited,
               least(sum(greatest(-amount, 0)), 9223372036854775807)::bigint AS debited,
               count(*) FILTER (
                   WHERE amount < 0 AND balance >= 0 AND balance + amount < 0
               ) AS overdrawn
        FROM (
            SELECT environment, user_id, currency, sum(amount) AS amount FROM planned_credits
            GROUP BY environment, user_id, currency HAVING sum(amount) <> 0
        ) AS changed
        CROSS JOIN LATERAL (
            SELECT CASE WHEN amount < 0 THEN ledger_balance(user_id, currency, environment) END AS balance
        ) AS present
        GROUP BY environment, currency ORDER BY environment, currency
        """)
}
