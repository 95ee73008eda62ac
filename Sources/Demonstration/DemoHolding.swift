import Postgres

/// One thing that a user may use or could use, and by which purchase.
struct DemoHolding: Hashable, Sendable {
    let userID: String
    let key: String
    let environment: String
    /// UNIX milliseconds; nil for ever.
    let until: Int64?
    let isActive: Bool
    let productID: String
    let originalTransactionID: String
    let ownershipRule: String
    let isInGrace: Bool

    /// What the named users hold or held last, what is active first.
    static func all(
        of userIDs: [String],
        on connection: PostgresConnection
    ) async throws -> [DemoHolding] {
        let rows = try await connection.query(
            """
            SELECT held.user_id, held.entitlement_key, held.environment,
                upper(CASE WHEN held.is_active THEN span ELSE NULL END) AS active_until,
                upper(held.periods) AS ends, held.is_active,
                coalesce(held.product_id, ''), held.original_transaction_id,
                coalesce(held.ownership_rule, ''), coalesce(held.is_in_grace, false)
            FROM entitlement_details AS held
            LEFT JOIN LATERAL (
                SELECT span FROM unnest(held.periods) AS span WHERE span @> now()
            ) AS active ON true
            WHERE held.user_id = ANY($1::text[])
            ORDER BY held.user_id, held.is_active DESC, held.entitlement_key,
                held.original_transaction_id
            """,
            [.textArray(userIDs)]
        )
        return rows.map { row in
            let isActive = row.bool(5)
            return DemoHolding(
                userID: row.text(0),
                key: row.text(1),
                environment: row.text(2),
                until: row.optionalTimestamp(isActive ? 3 : 4),
                isActive: isActive,
                productID: row.text(6),
                originalTransactionID: row.text(7),
                ownershipRule: row.text(8),
                isInGrace: row.bool(9)
            )
        }
    }
}
