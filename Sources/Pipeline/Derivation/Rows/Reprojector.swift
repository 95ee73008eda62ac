import AppStore
package import Entitlements
package import Postgres
import Store

/// Projects purchases again from their present facts, while the workers run.
package struct Reprojector: Sendable {
    private let catalogs = CatalogStore()

    package init() {}

    /// Writes the projected rows of purchases in the caller's transaction, which may be rolled back.
    ///
    /// Holds the same locks as `entitle-worker`, so a difference is never a write in progress.
    ///
    /// - Parameter purchases: the purchases; all apps with these original transaction IDs are compared.
    /// - Returns: the rows that differed.
    package func replace(_ purchases: [PurchaseKey], on connection: PostgresConnection) async throws -> [RowDifference]
    {
        let scopes = Array(Set(purchases.map(\.scope)))
        var reading = Pipeline()
        reading.add(Locks.projection, scopes)
        // Remove the closed periods first, so that the projection reads all facts instead of stored sums.
        reading.add(ClosedPeriodTable.remove, scopes)
        var (fold, catalog) = try await BatchFold.read(scopes, after: reading, catalogs: catalogs, on: connection)
        fold.markAll(ChangeCause(.rebuild))
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking { try await projector.readStacks(connection) }
        let changes = projector.changes()
        var writing = Pipeline()
        if !projector.isStacking { writing.add(Locks.users, unlessEmpty: Array(changes.users)) }
        writing.add(ClosedPeriodTable.write, unlessEmpty: projector.closedPeriods)
        writing.add(OwnerChangeTable.removeProjected, unlessEmpty: projector.ownerChanges)
        writing.add(changes, catalogVersion: catalog.version)
        if !writing.isEmpty { _ = try await connection.run(writing) }
        return changes.differences
    }
}
