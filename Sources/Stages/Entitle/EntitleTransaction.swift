import AppStore
import Entitlements
import Postgres

/// One transaction: locks, reads, takes up what a batch says, projects, writes what is different.
///
/// A fixed number of round trips, whatever the size of the batch: one to lock and read, one to
/// write and one to commit; where non-renewing purchases are concerned, two more to read what they
/// stack upon.
struct EntitleTransaction {
    private let connection: PostgresConnection
    private let records: [EntitleRecord]
    private let refused: [Int: ImmutableField]
    private let catalogs: CatalogStore

    init(
        connection: PostgresConnection,
        records: [EntitleRecord],
        refused: [Int: ImmutableField],
        catalogs: CatalogStore
    ) {
        self.connection = connection
        self.records = records
        self.refused = refused
        self.catalogs = catalogs
    }

    func run() async throws -> SettledBatch {
        let scopes = scopes()
        let reading = FactReading(scopes)
        let answers = try await connection.pipeline(
            [Locking.purchases(scopes), CatalogStore.newestVersion] + reading.statements
        )
        let catalog = try await catalogs.catalog(
            version: answers[1][0].optionalInt8(0),
            connection
        )
        var fold = BatchFold(scopes: scopes)
        reading.learn(answers[2...], into: &fold)
        for (index, record) in records.enumerated() {
            fold.take(record, refused: refused[index])
        }
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking {
            try await projector.readStacks(connection)
        }
        let changes = projector.changes()
        try await write(fold, changes, isLocked: projector.isStacking)
        fold.settleRelinked(changed: changes.purchases)
        return SettledBatch(
            outcomes: fold.outcomes,
            notifications: fold.meanings,
            unknownProducts: projector.unknownProducts,
            unknownTypes: projector.unknownTypes,
            changes: changes.changed.count
        )
    }

    private func scopes() -> [PurchaseScope] {
        var scopes: Set<PurchaseScope> = []
        for record in records {
            // A transaction and the renewal info that came with it name one purchase; where they
            // do not, both are locked.
            for scope in [record.scope, record.renewal?.key.scope] {
                if let scope { scopes.insert(scope) }
            }
        }
        return Array(scopes)
    }

    private func write(
        _ fold: BatchFold,
        _ changes: RowChanges,
        isLocked: Bool
    ) async throws {
        let facts = fold.changedTransactions
        let lock = isLocked ? nil : Locking.users(changes.users)
        let raising = FactWriting.transactions(facts)
        let others =
            [
                lock, FactWriting.renewals(fold.changedRenewals),
                FactWriting.graces(fold.newGraces), fold.revisions.statement,
                fold.notifications.statement,
            ].compactMap { $0 } + RowWriting.statements(changes)
        let statements = (raising.map { [$0] } ?? []) + others
        guard !statements.isEmpty else { return }
        let answers = try await connection.pipeline(statements)
        if raising != nil, answers[0].affectedCount < facts.count {
            throw try await foreignConflict(among: facts, fold)
        }
    }

    private func foreignConflict(
        among facts: [TransactionFact],
        _ fold: BatchFold
    ) async throws -> ForeignConflict {
        let rows = try await connection.pipeline([FactWriting.foreign(facts)])
        var conflicts: [Int: ImmutableField] = [:]
        for row in rows.joined() {
            let foreign = facts[Int(row.int8(0))]
            for (index, record) in records.enumerated() {
                if let fact = record.transaction, fact.key == foreign.key,
                    fact.purchaseKey == foreign.purchaseKey
                {
                    conflicts[index] = .originalTransactionID
                }
            }
        }
        precondition(!conflicts.isEmpty, "a fact was not raised, and nothing stands in its way")
        return ForeignConflict(records: conflicts)
    }
}
