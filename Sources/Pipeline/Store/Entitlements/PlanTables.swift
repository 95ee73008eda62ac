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
    /// - Parameter owners: whether the plan has owners of its own.
    package static func create(_ owners: Owners = .kept, on connection: PostgresConnection) async throws {
        let script = """
            DROP VIEW IF EXISTS \(all.map { "pg_temp.present_\($0)" }.joined(separator: ", ")) CASCADE;
            DROP TABLE IF EXISTS \((copied(.linked) + own).map { "pg_temp.\($0)" }.joined(separator: ", "));
            CREATE TEMPORARY TABLE planned_rows AS
                SELECT environment, bundle_id, original_transaction_id, entitlement_key, user_id, periods AS held,
                       periods AS planned, entitlement_key AS product_id, entitlement_key AS rule
                FROM entitlements WITH NO DATA;
            CREATE TEMPORARY TABLE planned_credits AS
                SELECT environment, user_id, currency, amount FROM ledger WITH NO DATA;
            CREATE TEMPORARY TABLE planned_access AS
                SELECT environment, entitlement_key, user_id, periods AS held, periods AS planned
                FROM entitlements WITH NO DATA;
            """
        let copies = copied(owners).map { table in
            """
            CREATE TEMPORARY VIEW present_\(table) AS SELECT * FROM \(table);
            CREATE TEMPORARY TABLE \(table) (LIKE \(table) INCLUDING ALL);
            """
        }
        let linking = owners == .kept ? [] : createLinking + (owners == .forgotten ? createForgetting : [])
        try await connection.execute(script: ([script] + copies + linking).joined(separator: "\n"))
    }

    /// The tables that only a plan has.
    private static let own = ["planned_rows", "planned_credits", "planned_access"] + ownOfOwners

    private static let all = copied(.linked) + viewed

    private static func copied(_ owners: Owners) -> [String] {
        ["stacked_purchases"] + (owners == .kept ? [] : ["owners", "account_links", "account_link_changes"])
    }

    /// Fills the copies, in the transaction of a snapshot.
    package static func copy(_ owners: Owners, on connection: PostgresConnection, deadline: Duration) async throws {
        // Changes of links that wait for link-worker are no part of the plan.
        let tables = copied(owners).filter { $0 != "account_link_changes" }
        let script = tables.map { "INSERT INTO pg_temp.\($0) SELECT * FROM present_\($0);" }
        try await connection.execute(script: script.joined(separator: "\n"), deadline: deadline)
    }

    /// A changed row, and the contribution behind it.
    package typealias Row = (changed: ChangeTable.Row, source: Contribution?)

    private static let access: Columns<Row> = [
        Column("environment", \.changed.purchase.environment), Column("entitlement_key", \.changed.change.key),
        Column("user_id", \.changed.change.userID),
    ]
    private static let row: Columns<Row> =
        access + [
            Column("bundle_id", \.changed.purchase.bundleID),
            Column("original_transaction_id", \.changed.purchase.originalTransactionID),
        ]

    /// Adds changed rows with their periods.
    package static let addRows = Statement<[Row], Void>(
        [
            .rows(
                "new",
                row + [
                    Column("held", \.changed.change.old), Column("planned", \.changed.change.new),
                    Column("product_id", \.source?.productID), Column("rule", \.source?.rule.rawValue),
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
        SELECT environment, entitlement_key, user_id, range_agg(held), range_agg(planned)
        FROM (
            SELECT environment, entitlement_key, user_id, held, planned FROM planned_rows
            UNION ALL
            SELECT environment, entitlement_key, user_id, periods, periods FROM (
                SELECT environment, entitlement_key, user_id, periods FROM entitlements AS other
                WHERE NOT EXISTS (SELECT FROM planned_rows AS changed WHERE \(row.equal("changed", "other")))
                UNION ALL
                SELECT environment, entitlement_key, user_id, periods FROM grants
            ) AS other
            WHERE EXISTS (SELECT FROM planned_rows AS changed WHERE \(access.equal("changed", "other")))
        ) AS rows
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
    static let effects = """
        (
            SELECT access.*, instant, CASE
                WHEN held @> instant AND NOT planned @> instant THEN 'lost'
                WHEN planned @> instant AND NOT held @> instant THEN 'gained'
                WHEN NOT held @> instant THEN NULL
                WHEN coalesce(active_until(planned, instant), 'infinity')
                    < coalesce(active_until(held, instant), 'infinity') THEN 'earlier'
                WHEN coalesce(active_until(planned, instant), 'infinity')
                    > coalesce(active_until(held, instant), 'infinity') THEN 'later'
            END COLLATE "C" AS effect
            FROM planned_access AS access CROSS JOIN unnest($instants) AS instant
        ) AS access
        """

    /// The numbers of users with each effect at an instant.
    package struct Users: Sendable {
        package let instant: StoredTime
        /// The environment and the key.
        ///
        /// `nil` for users under any key.
        package let environment: String?
        package let key: Identifier?
        /// The product of the changed purchases.
        ///
        /// `nil` for users by any product.
        package let productID: Identifier?
        /// The rule behind the changed access.
        ///
        /// `nil` for users by any rule.
        package let rule: String?
        package let lost: Int64
        package let gained: Int64
        package let earlier: Int64
        package let later: Int64
        /// Number of such elements, also of those beyond `usersMax`.
        package let total: Int64

        /// Whether these are the users under any key.
        package var isAny: Bool { key == nil && productID == nil && rule == nil }
    }

    /// The numbers at an instant without an effect.
    package static func none(at instant: StoredTime) -> Users {
        Users(
            instant: instant, environment: nil, key: nil, productID: nil, rule: nil, lost: 0, gained: 0, earlier: 0,
            later: 0, total: 0)
    }

    /// Maximum elements of `users`, the largest first.
    package static let usersMax = 10_000

    /// Counts by environment first: distinct pairs of environment and user take PostgreSQL twice the time.
    package static let users = Statement<[StoredTime], Users>(
        [instants],
        returning: RowReader(
            Users.init, "instant", "environment", "entitlement_key", "product_id", "rule", "lost", "gained", "earlier",
            "later", "total"),
        """
        SELECT instant, CASE WHEN entitlement_key IS NOT NULL THEN environment END AS environment, entitlement_key,
               product_id, rule,
               \(PlannedEffect.allCases.map { effect in
                   let users = "sum(users) FILTER (WHERE effect = '\(effect.rawValue)')"
                   return "coalesce(\(users), 0)::bigint AS \(effect.rawValue)"
               }.joined(separator: ", ")),
               count(*) OVER () AS total
        FROM (
            SELECT instant, effect, environment, entitlement_key, product_id, rule,
                   grouping(entitlement_key, product_id, rule) = 7 AS is_any,
                   count(DISTINCT user_id) AS users
            FROM \(effects)
            JOIN planned_rows USING (environment, entitlement_key, user_id)
            WHERE effect IS NOT NULL
            GROUP BY GROUPING SETS (
                (instant, effect, environment), (instant, effect, environment, entitlement_key),
                (instant, effect, environment, product_id), (instant, effect, environment, rule)
            )
        ) AS counted
        WHERE is_any OR coalesce(entitlement_key, product_id, rule) IS NOT NULL
        GROUP BY is_any, instant, 2, entitlement_key, product_id, rule
        ORDER BY NOT is_any, sum(users) DESC, 2, entitlement_key, product_id, rule, instant
        LIMIT \(usersMax)
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

    /// The first changed purchases of samples, with the samples' indexes.
    package static let purchases = Statement<[Sample], (index: Int, purchase: PurchaseKey)>(
        [
            .rows(
                "asked",
                [
                    .index, Column("environment", \.environment), Column("entitlement_key", \.key),
                    Column("user_id", \.userID),
                ])
        ], returning: RowReader({ ($0, $1) }, "index", PurchaseKey.reader),
        """
        SELECT index, original_transaction_id, environment, bundle_id FROM (
            SELECT asked.index, original_transaction_id, environment, bundle_id, row_number() OVER (
                PARTITION BY asked.index ORDER BY bundle_id, original_transaction_id
            ) AS number
            FROM $asked JOIN planned_rows USING (environment, entitlement_key, user_id)
        ) AS numbered
        WHERE number <= 10 ORDER BY index, number
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
