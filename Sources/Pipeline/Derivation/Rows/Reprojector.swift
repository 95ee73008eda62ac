import AppStore
package import Entitlements
package import Postgres
package import Store

/// Projects purchases again from their present facts, while the workers run.
///
/// Holds the same locks as `entitle-worker` for one transaction, so a difference is never a write in progress.
package struct Reprojector: Sendable {
    private let client: PostgresClient
    private let catalogs = CatalogStore()

    package init(client: PostgresClient) { self.client = client }

    /// Compares the rows of purchases with the projection of their facts.
    ///
    /// - Parameters:
    ///   - purchases: the purchases; all apps with these original transaction IDs are compared.
    ///   - kind: the cause of changed rows, for the history.
    ///   - isReplacing: whether the projected rows are written too.
    package func run(_ purchases: [PurchaseKey], kind: ChangeCause.Kind, isReplacing: Bool) async throws
        -> [RowDifference]
    {
        do {
            return try await client.transaction { connection in
                let differences = try await replace(purchases, kind: kind, on: connection)
                guard isReplacing else { throw Undone(differences: differences) }
                return differences
            }
        } catch let undone as Undone { return undone.differences }
    }

    /// Writes the projected rows of purchases in the caller's transaction, which may be rolled back.
    ///
    /// - Returns: the rows that differed.
    package func replace(_ purchases: [PurchaseKey], kind: ChangeCause.Kind, on connection: PostgresConnection)
        async throws -> [RowDifference]
    {
        let scopes = Array(Set(purchases.map(\.scope)))
        let (projector, changes, version) = try await project(scopes, kind: kind, on: connection)
        try await write(changes, by: projector, catalogVersion: version, on: connection)
        return changes.differences
    }

    /// The contribution of each transaction of the purchases, by the applied catalog.
    package func contributions(of purchases: [PurchaseKey]) async throws -> [PurchaseKey: [Contribution]] {
        let scopes = Array(Set(purchases.map(\.scope)))
        do {
            return try await client.transaction { connection in
                let (projector, _, _) = try await project(scopes, kind: .rebuild, on: connection)
                throw Undone(contributions: projector.contributions())
            }
        } catch let undone as Undone { return undone.contributions }
    }

    /// An error that rolls back a transaction which must not write anything.
    private struct Undone: Error {
        var differences: [RowDifference] = []
        var contributions: [PurchaseKey: [Contribution]] = [:]
    }

    private func project(_ scopes: [PurchaseScope], kind: ChangeCause.Kind, on connection: PostgresConnection)
        async throws -> (BatchProjector, RowChanges, catalogVersion: Int64?)
    {
        var pipeline = Pipeline()
        pipeline.add(Locks.projection, scopes)
        // Remove the closed periods first, so that the projection reads all facts instead of stored sums.
        pipeline.add(ClosedPeriodTable.remove, scopes)
        var (fold, catalog) = try await BatchFold.read(scopes, after: pipeline, catalogs: catalogs, on: connection)
        fold.markAll(ChangeCause(kind))
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking { try await projector.readStacks(connection) }
        return (projector, projector.changes(), catalog.version)
    }

    private func write(
        _ changes: RowChanges, by projector: BatchProjector, catalogVersion: Int64?, on connection: PostgresConnection
    ) async throws {
        var pipeline = Pipeline()
        if !projector.isStacking { pipeline.add(Locks.users, unlessEmpty: Array(changes.users)) }
        pipeline.add(ClosedPeriodTable.write, unlessEmpty: projector.closedPeriods)
        pipeline.add(OwnerChangeTable.removeProjected, unlessEmpty: projector.ownerChanges)
        pipeline.add(changes, catalogVersion: catalogVersion)
        guard !pipeline.isEmpty else { return }
        _ = try await connection.run(pipeline)
    }
}
