package import AppStore
package import Entitlements
import Postgres

/// The advisory locks: between those who write the same rows, and released with the transaction
/// where nothing else is said.
///
/// `link-worker` takes `sharedLinks`, accounts, ownership; `entitle-worker` takes `sharedCatalog`,
/// projection, users; always in this order. Each set is taken by one statement in the order of the
/// locks' numbers, so that two batches wait for each other but never in a circle.
///
/// The two workers share none of these locks. An owner is changed and marked in `owner_changes`
/// before the record that tells of it is sent. A projection that still read the former owner leaves
/// the mark, and the one that follows the record has the lock of the projection after it, or before
/// it: whichever is last reads the owner as it is. One of the two waits for a row of the other at
/// most: who marks a purchase whose former mark a projection has just removed waits until that has
/// committed. Projections never wait for a mark, so that there is no circle.
package enum Locks {
    /// Shared by all who decide by the links.
    package static let sharedLinks = shared("links")

    /// Waits until everybody who decides by links as they were has committed.
    ///
    /// What they have recorded is seen afterwards, and who begins later sees the links as they are;
    /// nobody waits for this.
    package static let afterSharedLinks = wait(for: "links")

    /// Shared by all who project by the catalog.
    package static let sharedCatalog = shared("catalog")

    /// Waits until everybody who projects by the catalog as it was has committed; see
    /// `afterSharedLinks`.
    package static let afterSharedCatalog = wait(for: "catalog")

    /// Apple Accounts in apps, whose purchases may name each other's owner.
    package static let accounts = Statement<[AppTransactionGroup], Void>(
        [
            .values("environments") { $0.map(\.environment) },
            .values("bundle_ids") { $0.map(\.bundleID) },
            .values("ids") { $0.map(\.appTransactionID) },
        ],
        "SELECT lock_accounts($environments, $bundle_ids, $ids)"
    )

    /// Who owns purchases, for those who may change it.
    package static let ownership = purchases("lock_ownership")

    /// What purchases grant, for those who write it.
    package static let projection = purchases("lock_projection")

    package static let users = Statement<[Identifier], Void>(
        [.values("users") { $0 }],
        "SELECT lock_users($users)"
    )

    private static func purchases(_ function: String) -> Statement<[PurchaseScope], Void> {
        Statement(
            [
                .values("environments") { $0.map(\.environment) },
                .values("originals") { $0.map(\.originalTransactionID) },
            ],
            "SELECT \(function)($environments, $originals)"
        )
    }

    static func shared(_ name: String) -> Statement<Void, Void> {
        Statement("SELECT lock_shared('\(name)')")
    }

    private static func wait(for name: String) -> Statement<Void, Void> {
        Statement("SELECT wait_for_sharers('\(name)')")
    }
}

/// A lock that a session holds, so that one copy of a worker at a time does some work.
package struct SessionLock: Sendable {
    /// False where another session holds it.
    package let acquire: Statement<Void, Bool>
    package let release: Statement<Void, Void>

    /// Work on changed links and changed owners.
    package static let linkOutbox = SessionLock("link outbox")
    /// The projection of all purchases by a new catalog.
    package static let catalogProjection = SessionLock("catalog projection")

    init(_ name: String) {
        let number = "hashtextextended('\(name)', 0)"
        acquire = Statement(
            returning: RowReader("is_locked"),
            "SELECT pg_try_advisory_lock(\(number)) AS is_locked"
        )
        release = Statement("SELECT pg_advisory_unlock(\(number))")
    }
}
