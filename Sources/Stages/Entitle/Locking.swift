import AppStore
import Postgres

/// The locks of a transaction: first the purchases of a batch, then its users.
enum Locking {
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
