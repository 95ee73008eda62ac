import AppStore
import Derivation
import Entitlements
import Postgres
import Store

/// An error for records that contradict the stored facts of their transaction IDs.
///
/// The write finds that the ID belongs to another purchase, or that its transaction lies in a closed period.
struct ContradictedFacts: Error {
    /// The contradicted fields, by the records' indexes in the batch.
    let records: [Int: ImmutableField]
}

/// A transaction that locks, reads, adds the facts of a batch, projects, and writes the
/// differences.
///
/// The number of round trips does not depend on the size of the batch: one to lock and read, one to
/// write and one to commit. Non-renewing purchases need two more to read stacks.
struct EntitleTransaction {
    let connection: PostgresConnection
    var records: [EntitleRecord] = []
    var refused: [Int: ImmutableField] = [:]
    /// Purchases to project even if no record changes them.
    var reprojected: [PurchaseScope] = []
    let catalogs: CatalogStore
    /// The indexes of the records that requests wait for.
    var awaited: [Int] = []
    var newRows = NewRows.upserted

    func run() async throws -> SettledBatch {
        let scopes = try await scopes()
        var pipeline = Pipeline()
        pipeline.add(Locks.sharedCatalog)
        pipeline.add(Locks.projection, scopes)
        var (fold, catalog) = try await BatchFold.read(scopes, after: pipeline, catalogs: catalogs, on: connection)
        try await reopenPeriods(&fold)
        for (index, record) in records.enumerated() { fold.add(record, refused: refused[index]) }
        fold.mark(reprojected, ChangeCause(.catalog, id: catalog.version.map { String($0) }))
        fold.markOwnerChanges()
        var projector = BatchProjector(fold, Projection(catalog: catalog.catalog))
        if projector.isStacking { try await projector.readStacks(connection) }
        let changes = projector.changes()
        let purchasersTokens = try await write(fold, changes, by: projector, catalogVersion: catalog.version)
        fold.settleRelinked(changed: changes.purchases)
        return SettledBatch(
            outcomes: fold.outcomes, answers: try await readAnswers(fold), notifications: fold.meanings,
            unknownProducts: projector.unknownProducts, unknownTypes: projector.unknownTypes,
            purchasersTokens: purchasersTokens, changes: changes.changed.count)
    }

    /// Reads all facts of the purchases whose closed periods the batch may change, and removes
    /// these closed periods.
    private func reopenPeriods(_ fold: inout BatchFold) async throws {
        let reopened = fold.scopes(reopenedBy: records)
        guard !reopened.isEmpty else { return }
        var pipeline = Pipeline()
        pipeline.add(ClosedPeriodTable.remove, reopened)
        fold.replace(by: try await BatchFold(reading: reopened, after: pipeline, on: connection))
    }

    /// Reads the answers for waiting requests; costs one round trip if a request waits.
    private func readAnswers(_ fold: BatchFold) async throws -> [Int: UserAnswer] {
        guard !awaited.isEmpty else { return [:] }
        let reading = AnswerReading(
            awaited.map { index in
                AnswerReading.Question(index: index, record: records[index], owner: fold.owner(of: records[index]))
            })
        return try await reading.answers(connection)
    }

    private func scopes() async throws -> [PurchaseScope] {
        var scopes = Set(reprojected)
        let reusing = records.compactMap { $0.transaction }.filter { $0.key.environment.reusesIDs }
        if !reusing.isEmpty {
            // A reused ID may move from its former purchase to one of the batch.
            scopes.formUnion(try await connection.run(TransactionTable.scopes, reusing))
        }
        scopes.reserveCapacity(reprojected.count + records.count)
        for record in records { record.insertScopes(into: &scopes) }
        return Array(scopes)
    }

    /// - Returns: the number of seats' transactions with the account token of a purchaser.
    private func write(_ fold: BatchFold, _ changes: RowChanges, by projector: BatchProjector, catalogVersion: Int64?)
        async throws -> Int
    {
        let changed = fold.changedTransactions
        let facts = changed.new + changed.others
        let assigned = facts.filter { $0.ownershipType == .assigned && $0.appAccountToken != nil }
        var pipeline = Pipeline()
        let raising = pipeline.add(TransactionTable.raise, new: changed.new, newRows, others: changed.others)
        pipeline.add(fold, newRows)
        pipeline.add(ClosedPeriodTable.write, unlessEmpty: projector.closedPeriods)
        pipeline.add(OwnerChangeTable.removeProjected, unlessEmpty: projector.ownerChanges)
        // The users are locked after the writes that the purchase locks cover, to shorten the wait
        // of these users' other transactions.
        if !projector.isStacking { pipeline.add(Locks.users, unlessEmpty: Array(changes.users)) }
        pipeline.add(changes, catalogVersion: catalogVersion)
        let purchasersTokens = pipeline.add(TransactionTable.countPurchasersTokens, unlessEmpty: assigned)
        guard !pipeline.isEmpty else { return 0 }
        let answers = try await connection.run(pipeline)
        if raising.reduce(0, { $0 + answers[$1].affectedCount }) < facts.count {
            throw try await contradiction(among: facts)
        }
        return purchasersTokens.map { answers[$0][0] } ?? 0
    }

    private func contradiction(among facts: [TransactionFact]) async throws -> ContradictedFacts {
        var fields: [Int: ImmutableField] = [:]
        for contradiction in try await connection.run(TransactionTable.contradictions, facts) {
            let refused = facts[contradiction.index]
            for (index, record) in records.enumerated() {
                if let fact = record.transaction, fact.key == refused.key, fact.purchaseKey == refused.purchaseKey {
                    fields[index] = contradiction.field
                }
            }
        }
        precondition(!fields.isEmpty, "a fact was not raised, and nothing stands in its way")
        return ContradictedFacts(records: fields)
    }
}
