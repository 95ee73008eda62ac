package import AppStore

/// The endpoints that a client calls.
package enum APIEndpoint: String, Sendable, CaseIterable {
    case notificationHistory = "notification history"
    case subscriptionStatuses = "subscription statuses"
    case transactionHistory = "transaction history"
    case refundHistory = "refund history"
    case orderLookup = "order lookup"
    case finish = "finish transaction"
    case accountToken = "account token"
    case consumption = "consumption information"

    /// Apple's limit for one app in requests per second, from "Identifying rate limits"; enforced by the hour.
    private var requestsPerSecond: Int64 {
        switch self {
        case .refundHistory, .orderLookup: 10
        case .accountToken: 20
        case .notificationHistory, .subscriptionStatuses, .transactionHistory, .finish, .consumption: 50
        }
    }

    /// Returns the time between two requests at a share of Apple's limit.
    ///
    /// - Parameter percent: the share in percent; clamped to 1 to 100.
    package func interval(in environment: Environment, percent: Int) -> Duration {
        let part = requestsPerSecond * Int64(min(max(percent, 1), 100))
        // The limit in Sandbox is a tenth of Production's.
        let scale: Int64 = environment == .production ? 1 : 10
        return .nanoseconds(100_000_000_000 * scale / part)
    }
}
