import AppStore
package import Postgres
package import Simulation
import Store

/// The entitlements and balance of one user of the demo, as stored in the database.
package struct DemoUserState: Hashable, Sendable {
    package var entitlements: Set<String> = []
    package var sandboxEntitlements: Set<String> = []
    package var coins: Int64 = 0
}

extension DemoUserState {
    /// Creates the state that a user must have at the end.
    package init(_ user: DemoUser) {
        self.init(entitlements: user.entitlements, sandboxEntitlements: user.sandboxEntitlements, coins: user.coins)
    }

    /// Reads the states of all users with an entitlement or a balance, by user ID.
    package static func all(on connection: PostgresConnection) async throws -> [String: DemoUserState] {
        var states: [String: DemoUserState] = [:]
        var pipeline = Pipeline()
        let held = pipeline.add(EntitlementDetails.active, .production)
        let inSandbox = pipeline.add(EntitlementDetails.active, .sandbox)
        let balances = pipeline.add(EntitlementDetails.balances, "coins")
        let answers = try await connection.run(pipeline)
        for active in answers[held] {
            states[active.userID.text, default: DemoUserState()].entitlements.insert(active.key.text)
        }
        for active in answers[inSandbox] {
            states[active.userID.text, default: DemoUserState()].sandboxEntitlements.insert(active.key.text)
        }
        for (userID, balance) in answers[balances] where balance != 0 {
            states[userID.text, default: DemoUserState()].coins = balance
        }
        return states
    }
}
