import AppStore
import Entitlements
import Postgres

/// The statements that lock what a batch concerns, until the end of its transaction: the accounts
/// first, then the purchases, which `entitle-worker` locks too.
enum OwnershipLocks {
    /// Held by whoever judges purchases by the links, and shared among them; before all others.
    static let sharedLinks = PostgresStatement(
        "SELECT pg_advisory_xact_lock_shared(hashtextextended('links', 0))"
    )

    /// Waits until everybody who judges by links as they were has committed.
    ///
    /// What they have recorded is seen afterwards, and who begins later sees the links as they are;
    /// nobody waits for this.
    static let afterSharedLinks = PostgresStatement("SELECT wait_for_sharers('links')")

    static func accounts(_ groups: some Sequence<AppTransactionGroup>) -> PostgresStatement {
        var environments = PostgresArray(of: .text)
        var bundleIDs = PostgresArray(of: .text)
        var ids = PostgresArray(of: .text)
        for group in groups {
            environments.append(group.environment.rawValue)
            bundleIDs.append(group.bundleID)
            ids.append(group.appTransactionID)
        }
        return PostgresStatement(
            "SELECT lock_accounts($1::text[], $2::text[], $3::text[])",
            [.array(environments), .array(bundleIDs), .array(ids)]
        )
    }

    static func purchases(_ scopes: some Sequence<PurchaseScope>) -> PostgresStatement {
        var environments = PostgresArray(of: .text)
        var originals = PostgresArray(of: .text)
        for scope in scopes {
            environments.append(scope.environment.rawValue)
            originals.append(scope.originalTransactionID)
        }
        return PostgresStatement(
            "SELECT lock_purchases($1::text[], $2::text[])",
            [.array(environments), .array(originals)]
        )
    }
}
