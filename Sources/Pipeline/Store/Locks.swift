package import AppStore
package import Entitlements
import Postgres

/// The advisory locks between writers of the same rows, released with the transaction unless stated
/// otherwise.
///
/// `link-worker` takes `sharedLinks`, accounts, ownership; `entitle-worker` takes `sharedCatalog`,
/// projection, users; always in this order. Each set is taken by one statement in the order of the
/// locks' numbers, so that two batches may wait for each other but never deadlock.
///
/// The two workers share none of these locks. An owner is changed and marked in `owner_changes`
/// before the record about it is sent. A projection that still read the former owner leaves the
/// mark. The projection that follows the record has the purchase's lock after or before it:
/// whichever is last reads the current owner. At most one of the two workers waits for a row of the
/// other: a transaction that marks a purchase whose former mark a projection has just removed waits
/// until that has committed. Projections never wait for a mark, so there is no deadlock.
package enum Locks {
    /// A lock shared by all transactions that decide by the links.
    package static let sharedLinks = shared("links")

    /// Waits until every transaction that decides by the former links has committed.
    ///
    /// Their results are visible afterwards, and later transactions see the new links; nobody waits
    /// for this.
    package static let afterSharedLinks = wait(for: "links")

    /// A lock shared by all transactions that project by the catalog.
    package static let sharedCatalog = shared("catalog")

    /// Waits until every projection by the former catalog has committed; see `afterSharedLinks`.
    package static let afterSharedCatalog = wait(for: "catalog")

    /// Locks Apple Accounts in apps, whose purchases may determine each other's owner.
    package static let accounts = Statement<[AppTransactionGroup], Void>(
        [
            .values("environments") { $0.map(\.environment) }, .values("bundle_ids") { $0.map(\.bundleID) },
            .values("ids") { $0.map(\.appTransactionID) },
        ], "SELECT lock_accounts($environments, $bundle_ids, $ids)")

    /// Locks the owners of purchases, for transactions that may change them.
    package static let ownership = purchases("lock_ownership")

    /// Locks the entitlements of purchases, for transactions that write them.
    package static let projection = purchases("lock_projection")

    package static let users = Statement<[Identifier], Void>([.values("users") { $0 }], "SELECT lock_users($users)")

    private static func purchases(_ function: String) -> Statement<[PurchaseScope], Void> {
        Statement(
            [
                .values("environments") { $0.map(\.environment) },
                .values("originals") { $0.map(\.originalTransactionID) },
            ], "SELECT \(function)($environments, $originals)")
    }

    static func shared(_ name: String) -> Statement<Void, Void> { Statement("SELECT lock_shared('\(name)')") }

    private static func wait(for name: String) -> Statement<Void, Void> {
        Statement("SELECT wait_for_sharers('\(name)')")
    }
}

/// A lock that a session holds, so that only one copy of a worker does some work at a time.
package struct SessionLock: Sendable {
    /// Acquires the lock; false if another session holds it.
    package let acquire: Statement<Void, Bool>
    package let release: Statement<Void, Void>

    /// Work on changed links and changed owners.
    package static let linkOutbox = SessionLock("link outbox")
    /// The projection of all purchases by a new catalog.
    package static let catalogProjection = SessionLock("catalog projection")
    /// Questions to Apple's server.
    package static let recovery = SessionLock("recovery")

    init(_ name: String) {
        let number = "hashtextextended('\(name)', 0)"
        acquire = Statement(returning: RowReader("is_locked"), "SELECT pg_try_advisory_lock(\(number)) AS is_locked")
        release = Statement("SELECT pg_advisory_unlock(\(number))")
    }
}
