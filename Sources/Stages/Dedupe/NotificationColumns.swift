import AppStore
import Entitlements
import Postgres

/// The key columns of `dedupe_notifications`, one array each.
struct NotificationColumns {
    private var environments = PostgresArray(of: .text)
    private var uuids = PostgresArray(of: .text)

    /// - Returns: false, and nothing is appended, where the key is no notification's.
    @discardableResult
    mutating func append(_ key: PartKey) -> Bool {
        guard case .notification(let environment, let uuid) = key else { return false }
        environments.append(environment.rawValue)
        uuids.append(uuid)
        return true
    }

    var values: [PostgresValue] {
        [environments, uuids].map { .array($0) }
    }
}
