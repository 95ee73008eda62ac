import AppStore
import Postgres

/// The locks of a transaction: first the catalog, then the purchases of a batch, then its users.
enum Locking {
    /// Held by whoever projects by the catalog, and shared among them; before all others.
    static let sharedCatalog = PostgresStatement(
        "SELECT pg_advisory_xact_lock_shared(hashtextextended('catalog', 0))"
    )

    /// Waits until everybody who projects by the catalog as it was has committed.
    ///
    /// What they have recorded is seen afterwards, and who begins later sees the catalog as it is;
    /// nobody waits for this.
    static let afterSharedCatalog = PostgresStatement("SELECT wait_for_sharers('catalog')")

    static func purchases(_ scopes: [PurchaseScope]) -> PostgresStatement {
        PostgresStatement(
            "SELECT lock_purchases($1::text[], $2::text[])",
            [
                .textArray(scopes.map(\.environment.rawValue)),
                .textArray(scopes.map(\.originalTransactionID)),
            ]
        )
    }

    static func users(_ users: Set<String>) -> PostgresStatement? {
        guard !users.isEmpty else { return nil }
        return PostgresStatement("SELECT lock_users($1::text[])", [.textArray(Array(users))])
    }
}
