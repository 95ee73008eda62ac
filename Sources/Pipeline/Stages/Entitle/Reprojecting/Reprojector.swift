import AppStore
package import Entitlements
package import Postgres
package import Store

/// Projects purchases again from their present facts, beside the workers.
///
/// Takes the same locks as `entitle-worker` and holds them for one transaction, so that a
/// difference it finds is real, and no write in progress.
package struct Reprojector: Sendable {
    private let client: PostgresClient
    private let catalogs = CatalogStore()

    package init(client: PostgresClient) { self.client = client }

    /// Compares the rows of purchases with what follows from their facts.
    ///
    /// - Parameters:
    ///   - purchases: the original transaction IDs, of any app.
    ///   - kind: why rows change, for the history.
    ///   - isReplacing: whether the rows are written too.
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

    /// Writes the rows of purchases as they follow from their facts, in the caller's transaction,
    /// which may be rolled back.
    ///
    /// - Returns: the rows that differed.
    package func replace(_ purchases: [PurchaseKey], kind: ChangeCause.Kind, on connection: PostgresConnection)
        async throws -> [RowDifference]
    {
        let scopes = Array(Set(purchases.map(\.scope)))
        let (projector, changes, version) = try await project(scopes, kind, connection)
        try await write(changes, by: projector, catalogVersion: version, on: connection)
        return changes.differences
    }

    /// The contribution of each transaction of the purchases, by the catalog in force.
    package func contributions(of purchases: [PurchaseKey]) async throws -> [PurchaseKey: [Contribution]] {
        let scopes = Array(Set(purchases.map(\.scope)))
        do {
            return try await client.transaction { connection in
                let (projector, _, _) = try await project(scopes, .rebuild, connection)
                throw Undone(contributions: projector.contributions())
            }
        } catch let undone as Undone { return undone.contributions }
    }

    /// Thrown to roll back a transaction that must leave nothing behind.
    private struct Undone: Error {
        var differences: [RowDifference] = []
        var contributions: [PurchaseKey: [Contribution]] = [:]
    }

    private func project(_ scopes: [PurchaseScope], _ kind: ChangeCause.Kind, _ connection: PostgresConnection)
        async throws -> (BatchProjector, RowChanges, catalogVersion: Int64?)
    {
        var pipeline = Pipeline()
        pipeline.add(Locks.projection, scopes)
        // Remove these first, so that all facts count and not the stored sums of the oldest.
        pipeline.add(ClosedPeriodTable.remove, scopes)
        var (fold, catalog) = try await BatchFold.read(scopes, after: pipeline, catalogs, connection)
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
