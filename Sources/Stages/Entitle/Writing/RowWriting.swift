import AppStore
import Entitlements
import Postgres

/// The statements that write what was projected.
enum RowWriting {
    /// - Parameter catalogVersion: the catalog by which was projected; nil where there is none.
    static func statements(
        _ changes: RowChanges,
        catalogVersion: Int64?
    ) -> [PostgresStatement] {
        [
            unstack(changes.unstacked), stack(changes.stacked),
            remove(changes.gone), hold(changes.held),
            LedgerWriting.remove(changes.uncredited), LedgerWriting.credit(changes.credited),
            ChangeWriting.append(changes.changed, catalogVersion: catalogVersion),
        ].compactMap { $0 }
    }

    private static func hold(_ rows: [RowChanges.Held]) -> PostgresStatement? {
        guard !rows.isEmpty else { return nil }
        var columns = RowKeyColumns()
        var periods = PostgresArray(of: .periods)
        for held in rows {
            columns.append(held)
            periods.append(held.row.periods.stored)
        }
        return PostgresStatement(
            """
            INSERT INTO entitlements (
                original_transaction_id, environment, bundle_id, entitlement_key, user_id, periods)
            SELECT * FROM unnest(
                $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::tstzmultirange[])
            ON CONFLICT (original_transaction_id, environment, bundle_id, entitlement_key, user_id)
            DO UPDATE SET periods = excluded.periods
            """,
            (columns.arrays + [periods]).map { .array($0) }
        )
    }

    private static func remove(_ rows: [RowChanges.Held]) -> PostgresStatement? {
        guard !rows.isEmpty else { return nil }
        var columns = RowKeyColumns()
        for gone in rows {
            columns.append(gone)
        }
        return PostgresStatement(
            """
            DELETE FROM entitlements AS held
            USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS gone (original_transaction_id, environment, bundle_id, entitlement_key, user_id)
            WHERE held.original_transaction_id = gone.original_transaction_id
              AND held.environment = gone.environment AND held.bundle_id = gone.bundle_id
              AND held.entitlement_key = gone.entitlement_key AND held.user_id = gone.user_id
            """,
            columns.arrays.map { .array($0) }
        )
    }

    private static func stack(_ purchases: [StackedPurchase]) -> PostgresStatement? {
        guard !purchases.isEmpty else { return nil }
        var columns = StackColumns()
        var originals = PostgresArray(of: .text)
        var dates = PostgresArray(of: .int8)
        var quantities = PostgresArray(of: .int8)
        for purchase in purchases {
            columns.append(purchase)
            originals.append(purchase.originalTransactionID)
            dates.append(purchase.purchaseDate.milliseconds)
            quantities.append(Int64(purchase.quantity))
        }
        return PostgresStatement(
            """
            INSERT INTO stacked_purchases (
                user_id, product_id, environment, bundle_id, transaction_id,
                original_transaction_id, purchase_date_ms, quantity)
            SELECT * FROM unnest(
                $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
                $7::int8[], $8::int8[])
            ON CONFLICT (user_id, product_id, environment, bundle_id, transaction_id)
            DO UPDATE SET purchase_date_ms = excluded.purchase_date_ms,
                quantity = excluded.quantity
            """,
            (columns.arrays + [originals, dates, quantities]).map { .array($0) }
        )
    }

    private static func unstack(_ purchases: [StackedPurchase]) -> PostgresStatement? {
        guard !purchases.isEmpty else { return nil }
        var columns = StackColumns()
        for purchase in purchases {
            columns.append(purchase)
        }
        return PostgresStatement(
            """
            DELETE FROM stacked_purchases AS stacked
            USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS gone (user_id, product_id, environment, bundle_id, transaction_id)
            WHERE stacked.user_id = gone.user_id AND stacked.product_id = gone.product_id
              AND stacked.environment = gone.environment AND stacked.bundle_id = gone.bundle_id
              AND stacked.transaction_id = gone.transaction_id
            """,
            columns.arrays.map { .array($0) }
        )
    }
}
