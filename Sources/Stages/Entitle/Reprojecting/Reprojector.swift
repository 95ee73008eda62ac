import AppStore
package import Entitlements
package import Postgres
package import Store

/// Projects purchases anew from the facts as they stand, beside the workers.
///
/// Takes the same locks as `entitle-worker` does and holds them for one transaction, so that what
/// it finds different is different, and not just on its way.
package struct Reprojector: Sendable {
    private let client: PostgresClient
    private let catalogs = CatalogStore()

    package init(client: PostgresClient) {
        self.client = client
    }

    /// Compares the rows of purchases with what follows from their facts.
    ///
    /// - Parameters:
    ///   - purchases: whatever the app, all of an original transaction ID are looked at.
    ///   - kind: why rows become different, for the history.
    ///   - isReplacing: whether the rows are written too; else nothing is.
    package func run(
        _ purchases: [PurchaseKey],
        kind: ChangeCause.Kind,
        isReplacing: Bool
    ) async throws -> [RowDifference] {
        do {
            return try await client.transaction { connection in
                let differences = try await replace(purchases, kind: kind, on: connection)
                guard isReplacing else { throw Undone(differences: differences) }
                return differences
            }
        } catch let undone as Undone {
            return undone.differences
        }
    }

    /// Writes the rows of purchases as they follow from their facts, in a transaction of the
    /// caller's, who may roll it back.
    ///
    /// - Returns: where they were otherwise.
    package func replace(
        _ purchases: [PurchaseKey],
        kind: ChangeCause.Kind,
        on connection: PostgresConnection
    ) async throws -> [RowDifference] {
        let scopes = Array(Set(purchases.map(\.scope)))
        let (projector, changes, version) = try await project(scopes, kind, connection)
        try await write(changes, projector, version, connection)
        return changes.differences
    }

    /// What each transaction of the purchases adds, by the catalog that holds.
    package func contributions(
        of purchases: [PurchaseKey]
    ) async throws -> [PurchaseKey: [Contribution]] {
        let scopes = Array(Set(purchases.map(\.scope)))
        do {
            return try await client.transaction { connection in
                let (projector, _, _) = try await project(scopes, .rebuild, connection)
                throw Undone(contributions: projector.contributions())
            }
        } catch let undone as Undone {
            return undone.contributions
        }
    }

    /// Has the transaction rolled back: it is to leave nothing behind.
    private struct Undone: Error {
        var differences: [RowDifference] = []
        var contributions: [PurchaseKey: [Contribution]] = [:]
    }

    private func project(
        _ scopes: [PurchaseScope],
        _ kind: ChangeCause.Kind,
        _ connection: PostgresConnection
    ) async throws -> (BatchProjector, RowChanges, catalogVersion: Int64?) {
        var pipeline = Pipeline()
        pipeline.add(Locks.projection, scopes)
        // All facts, and not what the oldest of them were found to add up to.
        pipeline.add(ClosedPeriodTable.remove, scopes)
        var (fold, catalog) = try await BatchFold.read(
            scopes,
            after: pipeline,
            catalogs,
            connection
        )
        fold.touchAll(ChangeCause(kind))
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking {
            try await projector.readStacks(connection)
        }
        return (projector, projector.changes(), catalog.version)
    }

    private func write(
        _ changes: RowChanges,
        _ projector: BatchProjector,
        _ catalogVersion: Int64?,
        _ connection: PostgresConnection
    ) async throws {
        var pipeline = Pipeline()
        if !projector.isStacking {
            pipeline.add(Locks.users, unlessEmpty: Array(changes.users))
        }
        pipeline.add(ClosedPeriodTable.write, unlessEmpty: projector.closedPeriods)
        pipeline.add(OwnerChangeTable.removeProjected, unlessEmpty: projector.ownerChanges)
        pipeline.add(changes, catalogVersion: catalogVersion)
        guard !pipeline.isEmpty else { return }
        _ = try await connection.run(pipeline)
    }
}
