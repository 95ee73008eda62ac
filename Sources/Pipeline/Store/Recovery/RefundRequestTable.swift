package import AppStore
package import Entitlements
import Postgres

/// The table `refund_requests`: Apple's refund requests, by the UUID of the notification.
package enum RefundRequestTable {
    package typealias Request = RecoveryRequestTable.Request

    package enum Outcome: String, CaseIterable, Sendable {
        case answered, late, refused
        case noConsent = "no_consent"
    }

    /// A purchase whose refund is requested, as its facts stand.
    package struct Purchase: Sendable {
        package let productID: Identifier
        package let type: ProductType?
        package let purchaseDate: Timestamp
        package let expiresDate: Timestamp?
        package let quantity: Int32
        package let userID: Identifier?
        /// Whether the rows follow from the present owner.
        package let isProjected: Bool
        package let isCredited: Bool
        /// The owner's last word about telling Apple.
        ///
        /// `nil` without one.
        package let isConsented: Bool?
        package let refundsInYear: Int64
        package let wasTried: Bool
        package let isAdvancedCommerce: Bool
        package let catalogVersion: Int64?

        fileprivate static let reader = RowReader(
            Purchase.init, "product_id", "product_type", "purchase_date_ms", "expires_date_ms", "quantity", "user_id",
            "is_projected", "is_credited", "is_consented", "refunds_in_year", "was_tried", "is_advanced_commerce",
            "catalog_version")
    }

    package struct State: Sendable {
        package let transactionID: Identifier
        package let deadline: Timestamp
        /// The preference that a person has set.
        ///
        /// `nil` if nobody has.
        package let wanted: String?
        /// The stored answer, which may have been sent.
        ///
        /// `nil` before it is computed.
        package let answer: JSONText?
        package let isOver: Bool
        /// The purchase.
        ///
        /// `nil` before its transaction is stored.
        package let purchase: Purchase?
    }

    package static let read = Statement<Request, State>(
        ofAsked { $0 },
        returning: RowReader(
            State.init, "transaction_id", "deadline_ms", "wanted", "answer", "is_over", Purchase.reader.unlessNull),
        """
        SELECT asked.transaction_id, asked.deadline_ms, asked.wanted, asked.answer,
               coalesce(asked.outcome <> 'refused', false) AS is_over,
               paid.product_id, paid.product_type,
               (extract(epoch FROM paid.purchased_at) * 1000)::int8 AS purchase_date_ms,
               (extract(epoch FROM paid.expires_at) * 1000)::int8 AS expires_date_ms,
               paid.quantity::int8 AS quantity, paid.user_id,
               NOT EXISTS (
                   SELECT FROM owner_changes AS change
                   WHERE change.original_transaction_id = asked.original_transaction_id
                     AND change.environment = asked.environment AND change.bundle_id = asked.bundle_id
               ) AS is_projected,
               EXISTS (
                   SELECT FROM ledger AS credit WHERE \(isCreditOfRequest)
               ) AS is_credited,
               (
                   SELECT is_consented FROM refund_consents AS word
                   WHERE word.user_id = paid.user_id ORDER BY consent_id DESC LIMIT 1
               ) AS is_consented,
               (
                   SELECT count(DISTINCT other.payment_id) FROM owners AS owner
                   JOIN purchases AS other
                       ON other.original_transaction_id = owner.original_transaction_id
                       AND other.environment = owner.environment AND other.bundle_id = owner.bundle_id
                   WHERE owner.user_id = paid.user_id AND owner.environment = asked.environment
                     AND other.refund_percentage > 0 AND other.revoked_at > now() - interval '365 days'
                     AND other.payment_id <> paid.payment_id
               ) AS refunds_in_year,
               EXISTS (
                   SELECT FROM purchases AS other
                   WHERE other.original_transaction_id = asked.original_transaction_id
                     AND other.environment = asked.environment AND other.bundle_id = asked.bundle_id
                     AND other.is_trial AND other.purchased_at < paid.purchased_at
               ) AS was_tried,
               EXISTS (
                   SELECT FROM transactions AS fact
                   WHERE fact.transaction_id = asked.transaction_id AND fact.environment = asked.environment
                     AND fact.bundle_id = asked.bundle_id AND fact.items IS NOT NULL
               ) AS is_advanced_commerce,
               (SELECT max(version) FROM catalog_versions) AS catalog_version
        FROM refund_requests AS asked
        LEFT JOIN purchases AS paid
            ON paid.original_transaction_id = asked.original_transaction_id
            AND paid.transaction_id = asked.transaction_id AND paid.environment = asked.environment
            AND paid.bundle_id = asked.bundle_id
        WHERE \(isAsked)
        """)

    /// The credits of the buyer in the currencies of the purchase, with what support credited.
    package static let credits = Statement<Request, LedgerCredit>(
        ofAsked { $0 }, returning: LedgerTable.credit, "WITH \(ledger) SELECT * FROM credits")

    /// The buyer's spending in these currencies, summed up between the credits and refunds.
    package static let debits = Statement<Request, Consumption.Debit>(
        ofAsked { $0 }, returning: RowReader(Consumption.Debit.init, "currency", "amount", "date_ms"),
        """
        WITH \(ledger),
        bounds AS (
            SELECT currency, array_agg(DISTINCT date_ms ORDER BY date_ms) AS dates
            FROM (
                SELECT currency, purchase_date_ms AS date_ms FROM credits
                UNION ALL
                SELECT currency, greatest(purchase_date_ms, revocation_date_ms) FROM credits
                WHERE revocation_date_ms IS NOT NULL
            ) AS dated
            GROUP BY currency
        )
        SELECT currency, least(sum(amount), 9223372036854775807)::int8 AS amount, dates[place] AS date_ms
        FROM (
            SELECT currency, posted.amount, bounds.dates, width_bucket(posted.date_ms, bounds.dates) AS place
            FROM posted JOIN bounds USING (currency) WHERE posted.amount > 0
        ) AS debits
        WHERE place > 0
        GROUP BY currency, dates[place]
        """)

    /// The entries of the buyer's balances; reversed entries and their reversals cancel each other.
    private static let ledger = """
        own AS (
            SELECT DISTINCT credit.user_id, credit.currency, credit.environment
            FROM refund_requests AS asked JOIN ledger AS credit ON \(isCreditOfRequest)
            WHERE \(isAsked)
        ),
        posted AS (
            SELECT entry.currency, entry.user_id, entry.amount,
                   (extract(epoch FROM entry.debited_at) * 1000)::int8 AS date_ms
            FROM own JOIN ledger_debits AS entry USING (user_id, currency, environment)
            WHERE entry.reverses IS NULL AND NOT EXISTS (
                SELECT FROM ledger_debits AS reversal
                WHERE reversal.user_id = entry.user_id
                  AND reversal.reference = reversal_reference(entry.reference)
                  AND reversal.reverses = entry.reference
            )
        ),
        credits AS (
            SELECT transaction_id, product_id, currency, user_id, amount, taken_back, purchase_date_ms,
                   revocation_date_ms
            FROM own JOIN ledger USING (user_id, currency, environment)
            UNION ALL
            SELECT '', '', currency, user_id, -amount, 0, date_ms, NULL FROM posted WHERE amount < 0
        )
        """

    /// Stores an answer before it is sent, unless another one is stored or a person has decided since.
    ///
    /// Returns no row in these cases.
    package static let store = Statement<
        (request: Request, wanted: String?, answer: JSONText, evidence: JSONText), JSONText
    >(
        ofAsked { $0.request } + [
            .value("wanted", \.wanted), .value("answer", \.answer), .value("evidence", \.evidence),
        ], returning: RowReader("answer"),
        """
        UPDATE refund_requests AS asked SET answer = $answer, evidence = $evidence
        WHERE \(isAsked) AND asked.answer IS NULL AND asked.wanted IS NOT DISTINCT FROM $wanted
        RETURNING asked.answer
        """)

    /// Waits for facts on their way, until an hour before the deadline.
    package static let wait = Statement<Request, Void>(
        ofAsked { $0 },
        """
        UPDATE recovery_requests AS waiting
        SET due_at = least(
            now() + least(greatest(now() - waiting.requested_at, '1 minute'), '10 minutes'),
            timestamptz_from_ms(asked.deadline_ms) - interval '1 hour')
        FROM refund_requests AS asked
        WHERE \(isAsked) AND waiting.subject = asked.uuid AND waiting.environment = asked.environment
          AND waiting.bundle_id = asked.bundle_id AND waiting.kind = 'consumption'
        """)

    /// Ends a request, and its question in `recovery_requests`.
    package static let end = Statement<(request: Request, outcome: Outcome, errorCode: Int64?), Void>(
        RecoveryRequestTable.ofRequest { $0.request } + [
            .value("outcome", \.outcome.rawValue), .value("error_code", \.errorCode),
        ],
        """
        WITH ended AS (
            UPDATE refund_requests AS asked
            SET outcome = $outcome, error_code = $error_code, ended_at = now()
            WHERE \(isAsked)
        )
        UPDATE recovery_requests
        SET finished_at = now(), result = CASE $outcome WHEN 'refused' THEN 'refused' ELSE 'done' END
        WHERE \(RecoveryRequestTable.isRequest)
        """)

    /// Numbers of requests whose deadline comes or was within the last day.
    package static let counts = Statement<Timestamp, (outcome: String, count: Int64)>(
        [.value("now_ms")], returning: RowReader({ ($0, $1) }, "outcome", "count"),
        """
        SELECT coalesce(outcome, CASE WHEN deadline_ms > $now_ms THEN 'waiting' ELSE 'late' END) AS outcome,
               count(*) AS count
        FROM refund_requests
        WHERE signed_date_ms > $now_ms - 129600000 AND deadline_ms > $now_ms - 86400000
        GROUP BY 1
        """)

    private static let isAsked = "asked.uuid = $subject AND asked.environment = $environment"

    private static func ofAsked<Input>(_ request: @escaping @Sendable (Input) -> Request) -> [Parameter<Input>] {
        [.value("subject") { request($0).subject }, .value("environment") { request($0).app.environment }]
    }

    private static let isCreditOfRequest = """
        credit.original_transaction_id = asked.original_transaction_id
        AND credit.environment = asked.environment AND credit.bundle_id = asked.bundle_id
        AND credit.transaction_id = asked.transaction_id
        """
}
