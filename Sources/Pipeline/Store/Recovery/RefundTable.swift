package import AppStore
import Postgres

/// The view `refunds`: refund requests with their evidence, answer and end.
package enum RefundTable {
    package struct Row: Sendable {
        package let id: Identifier
        package let environment: Environment
        package let bundleID: Identifier
        package let originalTransactionID: Identifier
        package let transactionID: Identifier
        package let productID: Identifier?
        package let productType: String?
        package let userID: Identifier?
        /// The price in thousandths of the currency.
        package let price: Int64?
        package let currency: Identifier?
        package let requestedAt: StoredTime
        package let deadline: StoredTime
        package let outcome: String
        package let endedAt: StoredTime?
        package let preference: String?
        package let answer: JSONText?
        package let evidence: JSONText?
        package let errorCode: Int64?
        package let decidedBy: String?
        package let reason: String?
        /// Apple's decision.
        ///
        /// `nil` until Apple has decided.
        package let decision: String?
        package let decisionAt: StoredTime?
        /// The customer's reason, in Apple's word.
        package let requestReason: String?

        fileprivate static let reader = RowReader(
            Row.init, "request_id", "environment", "bundle_id", "original_transaction_id", "transaction_id",
            "product_id", "product_type", "user_id", "price", "currency", "requested_at", "deadline", "outcome",
            "ended_at", "preference", "answer", "evidence", "error_code", "decided_by", "reason", "decision",
            "decision_at", "request_reason")
    }

    /// The wanted requests; `nil` for any.
    package struct Selection: Sendable {
        package var id: Identifier?
        package var environment: String?
        package var userID: Identifier?
        package var outcome: String?
        package var preference: String?
        package var productID: Identifier?
        /// The last request of the page before.
        package var after: Cursor?
        package var limit: Int

        package init(limit: Int) { self.limit = limit }
    }

    /// A request's place in the list.
    package struct Cursor: Hashable, Sendable {
        package let milliseconds: Int64
        package let id: Identifier

        package init(milliseconds: Int64, id: Identifier) {
            self.milliseconds = milliseconds
            self.id = id
        }

        package init(_ row: Row) { self.init(milliseconds: row.requestedAt.milliseconds, id: row.id) }
    }

    /// Lists requests, the newest first.
    package static let list = list(
        [.value("user", \.userID)], columns: Row.reader.names(of: "shown"),
        from: """
            refund_requests AS asked
            LEFT JOIN owners AS owner
                ON owner.original_transaction_id = asked.original_transaction_id
                AND owner.environment = asked.environment AND owner.bundle_id = asked.bundle_id
            """, where: "($user IS NULL OR owner.user_id = $user)")

    /// Lists requests without their users, which auditors may not read.
    package static let listWithoutUsers = list(
        [], columns: Row.reader.names(of: "shown", hiding: "user_id"), from: "refund_requests AS asked", where: "true")

    private static func list(
        _ parameters: [Parameter<Selection>], columns: String, from rows: String, where condition: String
    ) -> Statement<Selection, Row> {
        Statement(
            parameters + [
                .value("id", \.id), .value("environment", \.environment), .value("outcome", \.outcome),
                .value("preference", \.preference), .value("product", \.productID),
                .value("after_ms", \.after?.milliseconds), .value("after_id", \.after?.id), .value("limit", \.limit),
            ], returning: Row.reader,
            """
            WITH chosen AS MATERIALIZED (
                SELECT asked.uuid, asked.environment
                FROM \(rows)
                WHERE ($environment IS NULL OR asked.environment = $environment)
                  AND ($id IS NULL OR asked.uuid = $id) AND \(condition)
                  AND ($outcome IS NULL OR $outcome = coalesce(asked.outcome,
                    CASE WHEN timestamptz_from_ms(asked.deadline_ms) > now() THEN 'waiting' ELSE 'late' END))
                  AND ($preference IS NULL OR refund_preference(asked.answer) = $preference)
                  AND ($product IS NULL OR $product = (
                    SELECT paid.product_id FROM refunds AS paid
                    WHERE paid.request_id = asked.uuid AND paid.environment = asked.environment))
                  AND ($after_ms IS NULL OR asked.signed_date_ms < $after_ms
                    OR asked.signed_date_ms = $after_ms AND asked.uuid > $after_id)
                ORDER BY asked.signed_date_ms DESC, asked.uuid LIMIT $limit
            )
            SELECT \(columns)
            FROM chosen JOIN refunds AS shown
                ON shown.request_id = chosen.uuid AND shown.environment = chosen.environment
            ORDER BY shown.requested_at DESC, shown.request_id
            """)
    }

    /// The requests about purchases, the newest first.
    package static let ofPurchases = Statement<(environment: String, originals: [Identifier]), Row>(
        [.value("environment", \.environment), .values("originals", \.originals)], returning: Row.reader,
        """
        SELECT \(Row.reader.names(of: "shown")) FROM refunds AS shown
        WHERE shown.environment = $environment AND shown.original_transaction_id = ANY ($originals)
        ORDER BY shown.requested_at DESC, shown.request_id LIMIT 1000
        """)

    package struct Count: Sendable {
        package let productID: Identifier?
        package let outcome: String
        package let preference: String?
        package let decision: String?
        package let currency: Identifier?
        package let count: Int64
        package let price: Int64?
    }

    /// Counts the requests since an instant.
    package static let count = Statement<(environment: String?, since: StoredTime), Count>(
        [.value("environment", \.environment), .value("since", \.since)],
        returning: RowReader(
            Count.init, "product_id", "outcome", "preference", "decision", "currency", "count", "price"),
        """
        SELECT product_id, outcome, preference, decision, currency, count(*) AS count,
               least(sum(price), 9223372036854775807)::int8 AS price
        FROM refunds
        WHERE ($environment IS NULL OR environment = $environment) AND requested_at >= $since
        GROUP BY product_id, outcome, preference, decision, currency
        ORDER BY count(*) DESC, product_id, outcome, preference, decision, currency LIMIT 1000
        """)

    package typealias Decision = (id: Identifier, environment: String, preference: String, by: String, reason: String)

    /// Sets the preference of a request whose answer is not written yet; false for any other.
    package static let decide = Statement<Decision, Bool>(
        [
            .value("id", \.id), .value("environment", \.environment), .value("preference", \.preference),
            .value("by", \.by), .value("reason", \.reason),
        ], returning: RowReader("is_decided"),
        "SELECT decide_refund($id, $environment, $preference, $by, $reason) AS is_decided")
}
