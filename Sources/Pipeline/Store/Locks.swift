package import AppStore
package import Entitlements
import Postgres

/// The advisory locks between writers of the same rows, released with the transaction unless stated
/// otherwise.
///
/// `link-worker` acquires `sharedLinks`, accounts, ownership; `entitle-worker` acquires
/// `sharedCatalog`, projection, users; always in this order. One statement acquires each set in the
/// order of the locks' numbers, so two batches may wait for each other but never deadlock.
///
/// The two workers share none of these locks. An owner is changed and marked in `owner_changes`
/// before the record about the change is sent. A projection that still read the former owner does
/// not remove the mark. The record causes another projection of the purchase under the same lock;
/// the last projection reads the current owner. Only one of the two workers can wait for a row of
/// the other: a transaction that marks a purchase waits for the commit of a projection that has
/// just removed the former mark. Projections never wait for a mark, so there is no deadlock.
package enum Locks {
    /// A lock shared by all transactions that read the links.
    package static let sharedLinks = shared("links")

    /// Waits until every transaction that read the former links has committed.
    ///
    /// Afterwards their results are visible, and later transactions read the new links. No other
    /// transaction waits for this statement.
    package static let afterSharedLinks = wait(for: "links")

    /// A lock shared by all transactions that project with the catalog.
    package static let sharedCatalog = shared("catalog")

    /// Waits until every projection with the former catalog has committed; see `afterSharedLinks`.
    package static let afterSharedCatalog = wait(for: "catalog")

    /// Locks Apple Accounts in apps; the purchases of one account may determine each other's owner.
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

/// A lock of a session, by which only one copy of a worker does a kind of work at a time.
package struct SessionLock: Sendable {
    /// Acquires the lock; returns false if another session holds it.
    package let acquire: Statement<Void, Bool>
    package let release: Statement<Void, Void>

    /// The lock for work on changed links and changed owners.
    package static let linkOutbox = SessionLock("link outbox")
    /// The lock for projecting all purchases with a new catalog.
    package static let catalogProjection = SessionLock("catalog projection")
    /// The lock for questions to Apple's server.
    package static let recovery = SessionLock("recovery")

    init(_ name: String) {
        let number = "hashtextextended('\(name)', 0)"
        acquire = Statement(returning: RowReader("is_locked"), "SELECT pg_try_advisory_lock(\(number)) AS is_locked")
        release = Statement("SELECT pg_advisory_unlock(\(number))")
    }
}
