import Postgres

/// All purchases in the order of their IDs, for `pipeline rebuild`.
package enum AllPurchases {
    /// The starting point, and the number of purchases to read.
    package typealias Window = (after: PurchaseScope, countMax: Int)

    /// The tables that are read in the order of the purchases.
    static let tables = [
        "transactions", "renewals", "renewal_spans", "owners", "ownership_renewals", "entitlements", "ledger",
    ]

    /// The next purchases, even if there are rows but no facts.
    package static let next = Statement<Window, PurchaseScope>(
        [
            .value("original", \.after.originalTransactionID), .value("environment", \.after.environment),
            .value("count_max", \.countMax),
        ], returning: PurchaseScope.reader,
        """
        SELECT environment, original_transaction_id FROM (
            \(tables.map { "(\(part($0)))" }.joined(separator: " UNION "))
        ) AS known
        ORDER BY original_transaction_id, environment LIMIT $count_max
        """)

    /// Number of all purchases; the statement reads the keys of all tables.
    package static let count = Statement<Void, Int64>(
        returning: RowReader("purchases"),
        """
        SELECT count(*) AS purchases FROM (
            \(tables.map { "SELECT original_transaction_id, environment FROM \($0)" }
                .joined(separator: " UNION "))
        ) AS known
        """)

    private static func part(_ table: String) -> String {
        """
        SELECT DISTINCT original_transaction_id, environment FROM \(table)
        WHERE (original_transaction_id, environment) > ($original, $environment)
        ORDER BY original_transaction_id, environment LIMIT $count_max
        """
    }

    /// Whether workers are connected that write owners or rows: without them nothing is in flight.
    package static let areWorkersConnected = Statement<Void, Bool>(
        returning: RowReader("are_connected"),
        """
        SELECT EXISTS (
            SELECT FROM pg_stat_activity
            WHERE datname = current_database()
              AND application_name IN ('link-worker', 'entitle-worker')
        ) AS are_connected
        """)
}
