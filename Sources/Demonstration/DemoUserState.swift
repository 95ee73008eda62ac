package import Postgres
package import Simulation

/// What one user of the demo may use, as the database says.
package struct DemoUserState: Hashable, Sendable {
    package var entitlements: Set<String> = []
    package var sandboxEntitlements: Set<String> = []
    package var coins: Int64 = 0

    package init(
        entitlements: Set<String> = [],
        sandboxEntitlements: Set<String> = [],
        coins: Int64 = 0
    ) {
        self.entitlements = entitlements
        self.sandboxEntitlements = sandboxEntitlements
        self.coins = coins
    }

    /// What somebody has to end up with.
    package init(_ user: DemoUser) {
        self.init(
            entitlements: user.entitlements,
            sandboxEntitlements: user.sandboxEntitlements,
            coins: user.coins
        )
    }

    /// Everybody who has anything, by user ID.
    package static func all(on connection: PostgresConnection) async throws -> [String:
        DemoUserState]
    {
        var states: [String: DemoUserState] = [:]
        let held = try await connection.query(
            """
            SELECT user_id, entitlement_key, environment FROM (
                SELECT user_id, entitlement_key, 'Production' AS environment
                FROM active_entitlements
                UNION
                SELECT user_id, entitlement_key, 'Sandbox'
                FROM active_entitlements_in('Sandbox')
            ) AS held
            """
        )
        for row in held {
            if row.text(2) == "Sandbox" {
                states[row.text(0), default: DemoUserState()].sandboxEntitlements.insert(
                    row.text(1)
                )
            } else {
                states[row.text(0), default: DemoUserState()].entitlements.insert(row.text(1))
            }
        }
        let balances = try await connection.query(
            "SELECT user_id, balance FROM ledger_balances WHERE currency = 'coins'"
        )
        for row in balances where row.int8(1) != 0 {
            states[row.text(0), default: DemoUserState()].coins = row.int8(1)
        }
        return states
    }
}
