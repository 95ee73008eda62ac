package import AppStore

/// The questions of an import in `recovery_requests`, and the state of their customers.
package enum ImportTable {
    /// The state of an imported customer.
    package enum State: String, CaseIterable, TextColumnValue, Sendable {
        /// Apple has answered, and the purchase is stored and has a user.
        case whole
        /// Apple has not answered, or its answer is not stored yet.
        case waiting
        /// Apple does not know the ID.
        case missing
        /// Apple has refused a question for good.
        case refused
        /// The purchase is stored, but has no user.
        case withoutUser = "without_user"
    }

    package struct Customer: Sendable {
        package let app: RecoveredApp
        package let originalTransactionID: Identifier
        package let state: State
    }

    /// Adds questions and marks them as imported; a question that Apple answered with purchases is not asked again.
    ///
    /// The given keys must be distinct. Returns the subjects of the questions to ask.
    package static let add = Statement<[RecoveryRequestTable.Request], Identifier>(
        [.rows("asked", RecoveryRequestTable.Request.columns)], returning: RowReader("subject"),
        """
        INSERT INTO recovery_requests AS known ($asked.columns, imported_at)
        SELECT $asked.columns, now() FROM $asked ORDER BY subject, kind, environment, bundle_id
        ON CONFLICT (subject, kind, environment, bundle_id) DO UPDATE
        SET imported_at = now(), \(RecoveryRequestTable.again)
        WHERE known.imported_at IS NULL OR known.result <> 'done'
        RETURNING known.subject
        """)

    private static let isStored = """
        EXISTS (
            SELECT FROM transactions
            WHERE original_transaction_id = asked.subject AND environment = asked.environment
                AND bundle_id = asked.bundle_id
        )
        """

    /// The imported customers with their states.
    ///
    /// Apple is asked two questions about each: their transactions and their refunds.
    private static let customers = """
        (
            SELECT asked.environment, asked.bundle_id, asked.subject,
                CASE
                    WHEN asked.is_refused THEN 'refused'
                    WHEN asked.is_unknown THEN 'missing'
                    WHEN NOT asked.is_answered THEN 'waiting'
                    WHEN asked.published_count = 0 AND owner.environment IS NULL THEN 'missing'
                    WHEN owner.environment IS NULL OR NOT \(isStored) THEN 'waiting'
                    WHEN owner.user_id IS NULL THEN 'without_user'
                    ELSE 'whole'
                END AS state
            FROM (
                SELECT environment, bundle_id, subject, bool_and(finished_at IS NOT NULL) AS is_answered,
                    coalesce(bool_or(result = 'refused'), false) AS is_refused,
                    coalesce(bool_or(kind = 'transactions' AND result = 'not_found'), false) AS is_unknown,
                    sum(published_count) AS published_count
                FROM recovery_requests WHERE imported_at IS NOT NULL
                GROUP BY environment, bundle_id, subject
            ) AS asked
            LEFT JOIN owners AS owner
                ON owner.original_transaction_id = asked.subject AND owner.environment = asked.environment
                AND owner.bundle_id = asked.bundle_id
        ) AS customer
        """

    /// Number of customers in each state that occurs.
    package static let counts = Statement<Void, (state: State, count: Int64)>(
        returning: RowReader({ ($0, $1) }, "state", "count"),
        "SELECT state, count(*) AS count FROM \(customers) GROUP BY state")

    /// The customers who are not whole, up to a limit; waiting ones last.
    package static let open = Statement<Int, Customer>(
        [.value("limit", \.self)], returning: RowReader(Customer.init, RecoveredApp.reader, "subject", "state"),
        """
        SELECT environment, bundle_id, subject, state FROM \(customers)
        WHERE state <> 'whole'
        ORDER BY state = 'waiting', state, environment, bundle_id, subject LIMIT $limit
        """)
}
