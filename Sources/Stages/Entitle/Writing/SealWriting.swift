import AppStore
import Entitlements
import Postgres

/// The statements that write and forget what the oldest transactions of purchases add up to.
enum SealWriting {
    static func write(_ seals: [(scope: PurchaseScope, seal: Seal)]) -> PostgresStatement? {
        guard !seals.isEmpty else { return nil }
        var columns = [PostgresArray](repeating: PostgresArray(of: .text), count: 5)
        var dates = PostgresArray(of: .int8)
        var periods = PostgresArray(of: .periods)
        for (scope, seal) in seals {
            for (productID, set) in seal.periods.periodsByProduct {
                columns[0].append(scope.originalTransactionID)
                columns[1].append(scope.environment.rawValue)
                columns[2].append(productID)
                columns[3].append(seal.bundleID)
                columns[4].append(seal.trust.text)
                dates.append(seal.periods.before.milliseconds)
                periods.append(set.stored)
            }
        }
        return PostgresStatement(
            """
            INSERT INTO sealed_periods (
                original_transaction_id, environment, product_id, bundle_id, trust,
                sealed_before_ms, periods)
            SELECT * FROM unnest(
                $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[],
                $7::tstzmultirange[])
            ON CONFLICT (original_transaction_id, environment, product_id) DO UPDATE SET
                bundle_id = excluded.bundle_id,
                trust = excluded.trust,
                sealed_before_ms = excluded.sealed_before_ms,
                periods = excluded.periods
            """,
            (columns + [dates, periods]).map { .array($0) }
        )
    }

    static func forget(_ scopes: [PurchaseScope]) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM sealed_periods AS sealed
            USING unnest($1::text[], $2::text[]) AS gone (original_transaction_id, environment)
            WHERE sealed.original_transaction_id = gone.original_transaction_id
              AND sealed.environment = gone.environment
            """,
            [
                .textArray(scopes.map(\.originalTransactionID)),
                .textArray(scopes.map(\.environment.rawValue)),
            ]
        )
    }
}
