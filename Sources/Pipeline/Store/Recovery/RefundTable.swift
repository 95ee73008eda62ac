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

        fileprivate static let reader = RowReader(
            Row.init, "request_id", "environment", "bundle_id", "original_transaction_id", "transaction_id",
            "product_id", "product_type", "user_id", "price", "currency", "requested_at", "deadline", "outcome",
            "ended_at", "preference", "answer", "evidence", "error_code", "decided_by", "reason", "decision",
            "decision_at")
    }

    package typealias Selection = (
        id: Identifier?, environment: String, userID: Identifier?, outcome: String?, limit: Int
    )

    /// Lists requests, the newest first.
    package static let list = Statement<Selection, Row>(
        [
            .value("id", \.id), .value("environment", \.environment), .value("user", \.userID),
            .value("outcome", \.outcome), .value("limit", \.limit),
        ], returning: Row.reader,
        """
        WITH chosen AS MATERIALIZED (
            SELECT asked.uuid, asked.environment
            FROM refund_requests AS asked
            LEFT JOIN owners AS owner
                ON owner.original_transaction_id = asked.original_transaction_id
                AND owner.environment = asked.environment AND owner.bundle_id = asked.bundle_id
            WHERE asked.environment = $environment AND ($id IS NULL OR asked.uuid = $id)
              AND ($user IS NULL OR owner.user_id = $user)
              AND ($outcome IS NULL OR $outcome = coalesce(asked.outcome,
                CASE WHEN timestamptz_from_ms(asked.deadline_ms) > now() THEN 'waiting' ELSE 'late' END))
            ORDER BY asked.signed_date_ms DESC LIMIT $limit
        )
        SELECT \(Row.reader.names(of: "shown"))
        FROM chosen JOIN refunds AS shown
            ON shown.request_id = chosen.uuid AND shown.environment = chosen.environment
        ORDER BY shown.requested_at DESC, shown.request_id
        """)

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
    package static let count = Statement<(environment: String, since: StoredTime), Count>(
        [.value("environment", \.environment), .value("since", \.since)],
        returning: RowReader(
            Count.init, "product_id", "outcome", "preference", "decision", "currency", "count", "price"),
        """
        SELECT product_id, outcome, preference, decision, currency, count(*) AS count,
               least(sum(price), 9223372036854775807)::int8 AS price
        FROM refunds WHERE environment = $environment AND requested_at >= $since
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
