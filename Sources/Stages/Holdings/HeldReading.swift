/// Reads all that users hold, by purchases and by grants.
package enum HeldReading {
    /// - Parameter users: a relation `asked` with a column `user_id`.
    /// - Returns: a statement of which `HeldEntitlement` reads the columns from the second on; the
    ///   first is the user.
    package static func select(from users: String) -> String {
        """
        SELECT asked.user_id, known.*
        FROM \(users)
        CROSS JOIN LATERAL (
            SELECT environment, bundle_id, original_transaction_id, NULL::int8 AS grant_id,
                   entitlement_key, periods
            FROM entitlements AS held WHERE held.user_id = asked.user_id
            UNION ALL
            SELECT environment, NULL, NULL, grant_id, entitlement_key, periods
            FROM grants AS held WHERE held.user_id = asked.user_id AND NOT isempty(periods)
            OFFSET 0
        ) AS known
        ORDER BY asked.user_id, known.environment, known.bundle_id,
            known.original_transaction_id, known.grant_id, known.entitlement_key
        """
    }
}
