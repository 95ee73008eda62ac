package import AppStore

/// The questions of `recovery_requests` that come from an import, and their answers.
package enum ImportTable {
    /// The state of an imported customer.
    package enum State: String, CaseIterable, TextColumnValue, Sendable {
        /// Apple has answered, the purchase is stored, and a user has it.
        case whole
        /// Apple has not answered, or the answer is on its way to the tables.
        case waiting
        /// Apple does not know the ID.
        case missing
        case refused
        /// The purchase is stored, and nothing names its user.
        case withoutUser = "without_user"
    }

    package struct Customer: Sendable {
        package let app: RecoveredApp
        package let originalTransactionID: Identifier
        package let state: State
        /// `nil` for a purchase that is not stored or has no user.
        package let userID: Identifier?
    }

    /// Adds questions and marks them as imported; an answered question is not asked again.
    ///
    /// The given keys must be distinct. Returns the questions that were not known before.
    package static let add = Statement<[RecoveryRequestTable.Request], Identifier>(
        [.rows("asked", RecoveryRequestTable.Request.columns)], returning: RowReader("subject"),
        """
        WITH marked AS (
            INSERT INTO recovery_requests AS known ($asked.columns, imported_at)
            SELECT $asked.columns, now() FROM $asked ORDER BY subject, kind, environment, bundle_id
            ON CONFLICT (subject, kind, environment, bundle_id) DO UPDATE
            SET imported_at = now() WHERE known.imported_at IS NULL
            RETURNING known.subject, known.requested_at = now() AS is_new
        )
        SELECT subject FROM marked WHERE is_new
        """)

    /// The imported customers with their states.
    ///
    /// Apple is asked two questions about each: their transactions and their refunds.
    private static let customers = """
        (
            SELECT asked.environment, asked.bundle_id, asked.subject, owner.user_id,
                CASE
                    WHEN asked.is_refused THEN 'refused'
                    WHEN asked.is_unknown THEN 'missing'
                    WHEN NOT asked.is_answered THEN 'waiting'
                    WHEN fact.is_stored AND owner.is_decided AND owner.user_id IS NULL THEN 'without_user'
                    WHEN fact.is_stored AND owner.is_decided THEN 'whole'
                    WHEN asked.published_count = 0 THEN 'missing'
                    ELSE 'waiting'
                END AS state
            FROM (
                SELECT environment, bundle_id, subject, bool_and(finished_at IS NOT NULL) AS is_answered,
                    coalesce(bool_or(result = 'refused'), false) AS is_refused,
                    coalesce(bool_or(kind = 'transactions' AND result = 'not_found'), false) AS is_unknown,
                    sum(published_count) AS published_count
                FROM recovery_requests WHERE imported_at IS NOT NULL
                GROUP BY environment, bundle_id, subject
            ) AS asked
            LEFT JOIN LATERAL (
                SELECT true AS is_decided, user_id FROM owners
                WHERE original_transaction_id = asked.subject AND environment = asked.environment
                    AND bundle_id = asked.bundle_id
            ) AS owner ON true
            CROSS JOIN LATERAL (
                SELECT EXISTS (
                    SELECT FROM transactions
                    WHERE original_transaction_id = asked.subject AND environment = asked.environment
                        AND bundle_id = asked.bundle_id
                ) AS is_stored
            ) AS fact
        ) AS customer
        """

    /// Number of customers in each state that occurs.
    package static let counts = Statement<Void, (state: State, count: Int64)>(
        returning: RowReader({ ($0, $1) }, "state", "count"),
        "SELECT state, count(*) AS count FROM \(customers) GROUP BY state")

    /// The customers who are not whole, up to a limit; those in need of a person first.
    package static let open = Statement<Int, Customer>(
        [.value("limit", \.self)],
        returning: RowReader(Customer.init, RecoveredApp.reader, "subject", "state", "user_id"),
        """
        SELECT environment, bundle_id, subject, state, user_id FROM \(customers)
        WHERE state <> 'whole'
        ORDER BY state = 'waiting', state, environment, bundle_id, subject LIMIT $limit
        """)
}
