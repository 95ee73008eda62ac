package import AppStore
import Postgres

/// The answers of the database's own views and functions about users, as the app's servers and
/// support staff see them.
package enum EntitlementDetails {
    /// A key that a user may use now.
    package struct Active: Hashable, Sendable {
        package let userID: Identifier
        package let key: Identifier
    }

    package static let active = Statement<Environment, Active>(
        [.value("environment")], returning: RowReader(Active.init, "user_id", "entitlement_key"),
        "SELECT DISTINCT user_id, entitlement_key FROM active_entitlements_in($environment)")

    /// The users' balances of one currency in Production.
    package static let balances = Statement<Identifier, (userID: Identifier, balance: Int64)>(
        [.value("currency")], returning: RowReader({ ($0, $1) }, "user_id", "balance"),
        "SELECT user_id, balance FROM ledger_balances WHERE currency = $currency")

    /// A present or former entitlement of a user, and its purchase.
    package struct Held: Hashable, Sendable {
        package let userID: Identifier
        package let key: Identifier
        package let environment: String
        /// The end of the present period, else of the last one; nil if it never ends.
        package let until: StoredTime?
        package let isActive: Bool
        package let productID: Identifier?
        package let originalTransactionID: Identifier
        package let ownershipRule: String?
        package let isInGrace: Bool
    }

    /// The users' present or last entitlements, active ones first.
    package static let held = Statement<[Identifier], Held>(
        [.values("users", \.self)],
        returning: RowReader(
            Held.init, "user_id", "entitlement_key", "environment", "until", "is_active", "product_id",
            "original_transaction_id", "ownership_rule", "is_in_grace"),
        """
        SELECT held.user_id, held.entitlement_key, held.environment,
               CASE WHEN held.is_active THEN held.active_until ELSE upper(held.periods) END AS until,
               held.is_active, held.product_id, held.original_transaction_id,
               held.ownership_rule, coalesce(held.is_in_grace, false) AS is_in_grace
        FROM entitlement_details AS held
        WHERE held.user_id = ANY ($users)
        ORDER BY held.user_id, held.is_active DESC, held.entitlement_key,
            held.original_transaction_id
        """)

    /// A user's credits of one currency in Production, and the part that refunds removed.
    package struct Credited: Hashable, Sendable {
        package let userID: Identifier
        package let currency: Identifier
        package let bought: Int64
        package let takenBack: Int64
    }

    package static let credited = Statement<[Identifier], Credited>(
        [.values("users", \.self)], returning: RowReader(Credited.init, "user_id", "currency", "bought", "taken_back"),
        """
        SELECT user_id, currency, sum(amount)::int8 AS bought, sum(taken_back)::int8 AS taken_back
        FROM ledger WHERE user_id = ANY ($users) AND environment = 'Production'
        GROUP BY user_id, currency ORDER BY user_id, currency
        """)
}
