import AppStore
package import Entitlements
package import Postgres
package import Store

extension BatchFold {
    /// Reads the stored facts of scopes and the applied catalog, in one round trip.
    ///
    /// - Parameter pipeline: statements that run first, such as the locks.
    package static func read(
        _ scopes: [PurchaseScope], after pipeline: Pipeline, catalogs: CatalogStore, on connection: PostgresConnection
    ) async throws -> (fold: BatchFold, catalog: CatalogStore.Versioned) {
        var pipeline = pipeline
        let version = pipeline.add(CatalogTable.newestVersion)
        let reading = FactReading(scopes, in: &pipeline)
        let answers = try await connection.run(pipeline)
        let catalog = try await catalogs.catalog(version: answers[version][0], connection)
        var fold = BatchFold(scopes: scopes)
        fold.add(reading, answers)
        return (fold, catalog)
    }

    /// Reads the stored facts of scopes.
    ///
    /// - Parameters:
    ///   - whole: whether each transaction is read, also those in closed periods.
    ///   - pipeline: statements that run first.
    package init(
        reading scopes: [PurchaseScope], whole: Bool = false, after pipeline: Pipeline = Pipeline(),
        on connection: PostgresConnection
    ) async throws {
        var pipeline = pipeline
        let reading = FactReading(scopes, whole: whole, in: &pipeline)
        self.init(scopes: scopes)
        add(reading, try await connection.run(pipeline))
    }

    /// Adds the stored facts of the fold's scopes; call this before records are added.
    private mutating func add(_ reading: FactReading, _ answers: PipelineAnswers) {
        for row in answers[reading.closedPeriods] { withState(of: row.scope) { $0.add(row) } }
        for fact in answers[reading.transactions] {
            withState(of: fact.purchaseKey.scope) { $0[fact.key.bundleID].add(fact) }
        }
        for fact in answers[reading.renewals] { withState(of: fact.key.scope) { $0.add(fact) } }
        for row in answers[reading.spans] { withState(of: row.key.scope) { $0.add(row) } }
        for row in answers[reading.owners] {
            withPurchase(row.key) { purchase in
                purchase.ownership = row.owner.ownership
                purchase.ownerChange = row.change
            }
        }
        for row in answers[reading.entitlements] { withPurchase(row.purchase) { $0.rows.append(row.row) } }
        for row in answers[reading.credits] { withPurchase(row.purchase) { $0.credits.append(row.credit) } }
        for purchase in answers[reading.stackedPurchases] {
            withPurchase(purchase.purchaseKey) { $0.stacked.append(purchase) }
        }
    }

    private mutating func withPurchase(_ key: PurchaseKey, _ body: (inout PurchaseState) -> Void) {
        withState(of: key.scope) { body(&$0[key.bundleID]) }
    }
}

extension BatchFold {
    /// The facts that are not stored yet, and the facts with a newer revision than their stored ones.
    package var changedTransactions: (new: [TransactionFact], others: [TransactionFact]) {
        var (new, others): ([TransactionFact], [TransactionFact]) = ([], [])
        new.reserveCapacity(outcomes.count)
        forEachPurchase { state, purchase in
            for index in state.purchases[purchase].state.changed {
                let fact = state.purchases[purchase].state.transactions[index]
                if state.purchases[purchase].state.isNew(index), !fact.key.environment.reusesIDs {
                    new.append(fact)
                } else {
                    others.append(fact)
                }
            }
        }
        return (new, others)
    }

    fileprivate var changedRenewals: [RenewalFact] {
        var changed: [RenewalFact] = []
        for index in states.indices where !states[index].changedRenewals.isEmpty {
            let state = states[index]
            changed += state.renewals.filter { state.changedRenewals.contains($0.key) }
        }
        return changed
    }

    fileprivate var newSpans: [RenewalTable.Span] {
        var added: [RenewalTable.Span] = []
        for index in states.indices {
            for (key, spans) in states[index].newSpans { added += spans.map { RenewalTable.Span(key: key, span: $0) } }
        }
        return added
    }
}

extension Pipeline {
    /// Writes what the records of a fold have added, except the transactions.
    ///
    /// The caller writes the transactions and compares how many were written.
    package mutating func add(_ fold: BatchFold, _ newRows: NewRows) {
        add(RenewalTable.raise, unlessEmpty: fold.changedRenewals)
        add(RenewalTable.addSpans, unlessEmpty: fold.newSpans)
        add(AppDownloadTable.raise, unlessEmpty: fold.history.downloads)
        let history = fold.history
        add(RevisionTable.add, new: history.firstRevisions, newRows, others: history.revisions)
        add(NotificationTable.add, unlessEmpty: fold.history.notifications)
    }
}

extension StackedPurchase {
    var purchaseKey: PurchaseKey {
        PurchaseKey(environment: key.environment, bundleID: key.bundleID, originalTransactionID: originalTransactionID)
    }
}
