import AppStore
import Entitlements
import OpenSSL
import Postgres

/// The key columns of `dedupe_revisions`, one array each.
struct PartColumns {
    private var kinds = PostgresArray(of: .text)
    private var environments = PostgresArray(of: .text)
    private var bundleIDs = PostgresArray(of: .text)
    private var ids = PostgresArray(of: .text)
    private var trusts = PostgresArray(of: .text)

    /// A member that a kind does not have is the empty string: a primary key holds no null.
    mutating func append(_ key: PartKey) {
        switch key {
        case .transaction(let key):
            append(
                "transaction",
                key.environment.rawValue,
                key.bundleID,
                key.transactionID,
                ""
            )
        case .renewal(let key):
            append(
                "renewal",
                key.environment.rawValue,
                "",
                key.originalTransactionID,
                key.trust.text
            )
        case .appTransaction(let environment, let bundleID, let id):
            append("app_transaction", environment.rawValue, bundleID, id, "")
        case .claim(let key, let userID):
            append(
                "claim",
                key.environment.rawValue,
                key.bundleID,
                "\(key.transactionID)/\(SHA256.digest(Array(userID.utf8)).hex)",
                ""
            )
        case .notification:
            preconditionFailure("notifications are remembered in a table of their own")
        }
    }

    private mutating func append(
        _ kind: String,
        _ environment: String,
        _ bundleID: String,
        _ id: String,
        _ trust: String
    ) {
        kinds.append(kind)
        environments.append(environment)
        bundleIDs.append(bundleID)
        ids.append(id)
        trusts.append(trust)
    }

    var values: [PostgresValue] {
        [kinds, environments, bundleIDs, ids, trusts].map { .array($0) }
    }
}
