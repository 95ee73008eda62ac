import AppStore
import Postgres
import Store

/// A pause of more than an hour that Apple's server has asked `recovery-worker` for.
struct AppleWait: CustomStringConvertible, Sendable {
    private let limit: RecoveryLimitTable.Limit

    private static let shortMax: Int64 = 3_600_000

    static func read(_ connection: PostgresConnection, at now: Int64) async throws -> [AppleWait] {
        let limits = try await connection.run(RecoveryLimitTable.held, Timestamp(milliseconds: now + shortMax))
        return limits.map { AppleWait(limit: $0) }
    }

    var description: String {
        let (endpoint, app) = (limit.endpoint, limit.endpoint.app)
        return "Apple is not asked about \(app.bundleID) in \(app.environment.rawValue) "
            + "(\(endpoint.name)) until \(limit.until), as it wishes: "
            + "`pipeline recover apple --lift` ends the wait"
    }
}
