package import AppStore
import Postgres

/// The table `recovery_limits`: until when Apple's server has asked to be left alone.
package enum RecoveryLimitTable {
    /// The endpoint of the notification history; a request's is the one of its kind.
    package static let notifications = "notifications"

    package typealias Limit = (app: RecoveredApp, endpoint: String, until: Timestamp)

    /// Lets an endpoint rest until an instant by Apple's clock.
    package static let hold = Statement<Limit, Void>(
        RecoveredApp.parameters { $0.app } + [
            .value("endpoint", \.endpoint), .value("until_ms", \.until),
        ],
        """
        INSERT INTO recovery_limits AS known (environment, bundle_id, endpoint, until_ms)
        VALUES ($environment, $bundle_id, $endpoint, $until_ms)
        ON CONFLICT (bundle_id, environment, endpoint) DO UPDATE
        SET until_ms = greatest(known.until_ms, excluded.until_ms)
        """
    )

    /// A condition on the parameters `$environment`, `$bundle_id` and `$now_ms`.
    ///
    /// - Parameter endpoint: an expression of SQL.
    static func isOpen(_ endpoint: String) -> String {
        """
        NOT EXISTS (
            SELECT FROM recovery_limits AS held
            WHERE held.bundle_id = $bundle_id AND held.environment = $environment
              AND held.endpoint = \(endpoint) AND held.until_ms > $now_ms
        )
        """
    }
}
