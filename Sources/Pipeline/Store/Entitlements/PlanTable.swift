package import AppStore
import JSON
import Postgres

/// The table `plans`: what a catalog, links or rules of linking would do to users, as it was planned.
package enum PlanTable {
    /// A plan to store.
    package struct New: Sendable {
        package let plannedAt: StoredTime
        package let requestedBy: String?
        package let reason: String?
        package let catalogVersion: Int64
        package let catalog: JSONText?
        package let input: JSONText
        package let result: JSONText

        package init(
            plannedAt: StoredTime, requestedBy: String?, reason: String?, catalogVersion: Int64, catalog: JSONText?,
            input: JSONText, result: JSONText
        ) {
            self.plannedAt = plannedAt
            self.requestedBy = requestedBy
            self.reason = reason
            self.catalogVersion = catalogVersion
            self.catalog = catalog
            self.input = input
            self.result = result
        }
    }

    /// The number of a stored plan, and the SHA-256 of its catalog, input and result.
    package struct Added: Sendable {
        package let number: Int64
        package let sha256: String
    }

    private static let added = RowReader(Added.init, "plan", "sha256")

    private static let sha256 =
        "encode(sha256(convert_to(concat(catalog::text, input::text, result::text), 'UTF8')), 'hex') AS sha256"

    package static let add = Statement<New, Added>(
        [
            .value("planned_at", \.plannedAt), .value("requested_by", \.requestedBy), .value("reason", \.reason),
            .value("version", \.catalogVersion), .value("catalog", \.catalog), .value("input", \.input),
            .value("result", \.result),
        ], returning: added,
        """
        INSERT INTO plans (planned_at, requested_by, reason, catalog_version, catalog, input, result)
        VALUES ($planned_at, $requested_by, $reason, $version, $catalog, $input, $result)
        RETURNING plan, \(sha256)
        """)

    /// The maker of a plan, the instant and the reason, and the catalog version by which it was applied.
    package struct Head: Sendable {
        package let number: Int64
        package let plannedAt: StoredTime
        package let plannedBy: String
        package let requestedBy: String?
        package let reason: String?
        /// The version in force when it was made; 0 for none.
        package let catalogVersion: Int64
        package let input: JSONText
        package let appliedVersion: Int64?
        package let appliedAt: StoredTime?
        package let appliedBy: String?

        static let reader = RowReader(
            Head.init, "plan", "planned_at", "planned_by", "requested_by", "reason", "catalog_version", "input",
            "applied_version", "applied_at", "applied_by")
    }

    private static let heads = """
        (
            SELECT plans.*, applied.version AS applied_version, applied.applied_at,
                   coalesce(applied.requested_by, applied.applied_by) AS applied_by
            FROM plans LEFT JOIN catalog_versions AS applied ON applied.plan = plans.plan
        ) AS plans
        """

    package struct Stored: Sendable {
        package let head: Head
        package let result: JSONText
        package let sha256: String
    }

    package static let read = Statement<Int64, Stored>(
        [.value("plan")], returning: RowReader(Stored.init, Head.reader, "result", "sha256"),
        "SELECT \(Head.reader.names(of: "plans")), result, \(sha256) FROM \(heads) WHERE plan = $plan")

    /// The catalog of a plan.
    ///
    /// `nil` for a plan by the catalog in force.
    package static let catalog = Statement<Int64, JSONText?>(
        [.value("plan")], returning: RowReader("catalog"), "SELECT catalog FROM plans WHERE plan = $plan")

    /// A plan in a list, with its rows and the users who would lose time.
    ///
    /// `nil` for a number that the stored result lacks.
    package struct Listed: Sendable {
        package let head: Head
        package let rows: Int64?
        package let losingUsers: Int64?

        static let reader = RowReader(Listed.init, Head.reader, number("rows"), number("losing_users"))

        private static func number(_ name: String) -> RowReader<Int64?> {
            RowReader<JSONText?>(stringLiteral: name).map { $0?.root.int64 }
        }
    }

    /// The newest plans before a number, or of all.
    package static let list = Statement<(before: Int64?, countMax: Int), Listed>(
        [.value("before", \.before), .value("count_max", \.countMax)], returning: Listed.reader,
        """
        SELECT \(Head.reader.names(of: "plans")), readable -> 'rows' AS rows, readable -> 'losing_users' AS losing_users
        FROM (
            SELECT * FROM \(heads) WHERE $before IS NULL OR plan < $before ORDER BY plan DESC LIMIT $count_max
        ) AS plans
        -- PostgreSQL reads no JSON with this escape.
        CROSS JOIN LATERAL (SELECT CASE WHEN strpos(result::text, '\\u0000') = 0 THEN result END AS readable) AS known
        ORDER BY plan DESC
        """)

    /// Facts or changes of rows since an instant.
    package struct Since: Sendable {
        /// `transactions of` a product, or the cause of changes of a key.
        package let what: String
        package let name: Identifier
        package let count: Int64
    }

    package static let sinceCountMax = 20

    /// The transactions by product, and the users with changed access by key and cause, most first.
    ///
    /// Reads whole tables. Facts that were committed later than their time says may be missing.
    package static let since = Statement<StoredTime, Since>(
        [.value("instant")], returning: RowReader(Since.init, "what", "name", "count"),
        """
        SELECT what, name, count FROM (
            SELECT 'transactions of' AS what, fact.product_id AS name,
                   count(DISTINCT (fact.transaction_id, fact.environment)) AS count
            FROM revisions AS signed
            JOIN transactions AS fact
                ON (fact.transaction_id, fact.environment, fact.bundle_id, fact.track)
                    = (signed.id, signed.environment, signed.bundle_id, signed.track)
            WHERE signed.kind = 'transaction' AND signed.recorded_at >= $instant
            GROUP BY fact.product_id
            UNION ALL
            SELECT 'users changed by ' || cause || ' for', entitlement_key, count(DISTINCT user_id)
            FROM changes WHERE changed_at >= $instant AND cause <> 'time'
            GROUP BY cause, entitlement_key
        ) AS came
        ORDER BY count DESC, what, name LIMIT \(sinceCountMax)
        """)
}

extension CatalogProjection {
    /// The number of transactions up to the last projected purchase, and of all.
    package typealias Progress = (done: Int64, total: Int64)

    /// Counts the transactions; reads an index whole.
    package static let progress = Statement<Void, Progress>(
        returning: RowReader({ ($0, $1) }, "done", "total"),
        """
        SELECT count(*) FILTER (
                   WHERE (original_transaction_id, environment)
                       <= (after_original_transaction_id, after_environment)
               ) AS done,
               count(*) AS total
        FROM transactions CROSS JOIN catalog_projection
        """)
}
