import AppStore
import Entitlements
import Postgres

/// Some transactions in the order of their purchases, and which purchases a catalog concerns.
struct ReprojectionWindow {
    /// The purchases to be projected.
    private(set) var scopes: [PurchaseScope] = []
    /// The last purchase looked at; nil where there is nothing left.
    private(set) var last: PurchaseScope?

    /// How many transactions are looked at in one statement.
    static let countMax = 2000

    static func transactions(after scope: PurchaseScope) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT original_transaction_id, environment, product_id, items FROM transactions
            WHERE (original_transaction_id, environment) > ($1::text, $2::text)
            ORDER BY original_transaction_id, environment LIMIT \(countMax)
            """,
            [.text(scope.originalTransactionID), .text(scope.environment.rawValue)]
        )
    }

    init(_ rows: PostgresRows, _ changed: Set<String>) {
        for row in rows {
            let scope = PurchaseScope(
                environment: Environment(rawValue: row.text(1)),
                originalTransactionID: row.text(0)
            )
            last = scope
            if scopes.last != scope, Self.isConcerned(row, changed) {
                scopes.append(scope)
            }
        }
        // The last purchase may have more transactions than were looked at.
        if rows.count == Self.countMax, let last, scopes.last != last {
            scopes.append(last)
        }
    }

    private static func isConcerned(_ row: PostgresRow, _ changed: Set<String>) -> Bool {
        let items = CommerceItem.items(stored: row.optionalBytes(3))
        return changed.contains(row.text(2)) || items.contains { changed.contains($0.sku) }
    }
}
