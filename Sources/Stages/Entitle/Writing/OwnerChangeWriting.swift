import AppStore
import Entitlements
import Postgres

/// The statement that removes what `link-worker` has written of owners that have changed.
enum OwnerChangeWriting {
    /// Notes that purchases are projected from the owners that these changes brought; in the
    /// transaction that writes their rows.
    ///
    /// A change that was made since is left, and so is one that somebody is at: another projection
    /// follows it. So this waits for nobody.
    static func projected(
        _ changes: [(purchase: PurchaseKey, change: Int64)]
    ) -> PostgresStatement? {
        guard !changes.isEmpty else { return nil }
        var originals = PostgresArray(of: .text)
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var ids = PostgresArray(of: .int8)
        for (purchase, change) in changes {
            originals.append(purchase.originalTransactionID)
            environments.append(purchase.environment.rawValue)
            bundleIDs.append(purchase.bundleID)
            ids.append(change)
        }
        return PostgresStatement(
            removeProjected,
            [originals, environments, bundleIDs, ids].map { .array($0) }
        )
    }

    private static let removeProjected = """
        WITH projected AS (
            SELECT known.*
            FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[])
                AS asked (original_transaction_id, environment, bundle_id, change_id)
            CROSS JOIN LATERAL (
                SELECT change.original_transaction_id, change.environment, change.bundle_id
                FROM owner_changes AS change
                WHERE change.original_transaction_id = asked.original_transaction_id
                  AND change.environment = asked.environment
                  AND change.bundle_id = asked.bundle_id AND change.change_id = asked.change_id
                FOR UPDATE SKIP LOCKED
            ) AS known
        )
        DELETE FROM owner_changes AS change USING projected
        WHERE change.original_transaction_id = projected.original_transaction_id
          AND change.environment = projected.environment
          AND change.bundle_id = projected.bundle_id
        """
}
