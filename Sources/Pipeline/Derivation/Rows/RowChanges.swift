package import AppStore
package import Entitlements
package import Store

/// The writes that make the tables equal the projection.
package struct RowChanges {
    /// Rows to insert (`added`), update (`held`) and delete (`gone`).
    private(set) var added: [EntitlementTable.Row] = []
    private(set) var held: [EntitlementTable.Row] = []
    private(set) var gone: [EntitlementTable.Row] = []
    private(set) var credited: [LedgerTable.Row] = []
    private(set) var uncredited: [LedgerTable.Row] = []
    /// The credits that are replaced or removed, as they are stored.
    private(set) var former: [LedgerTable.Row] = []
    private(set) var stacked: [StackedPurchase] = []
    private(set) var unstacked: [StackedPurchase] = []
    package private(set) var changed: [ChangeTable.Row] = []
    /// The purchases with rows to write.
    package private(set) var purchases: Set<PurchaseKey> = []

    /// Users whose rows change; they are locked until the transaction ends.
    package var users: Set<Identifier> {
        Set(changed.map(\.change.userID)).union(credited.map(\.credit.userID)).union(uncredited.map(\.credit.userID))
    }

    /// Number of rows of entitlements and of the ledger to write.
    package var count: Int { changed.count + credited.count + uncredited.count }

    /// The amounts that the changed credits add to balances.
    package var balances: [LedgerTable.Difference] {
        credited.map { LedgerTable.Difference($0, amount: $0.credit.balance) }
            + former.map { LedgerTable.Difference($0, amount: -$0.credit.balance) }
    }

    mutating func compare(
        _ purchase: PurchaseKey, rows old: [EntitlementRow], with new: [EntitlementRow], _ occasion: ProjectionOccasion
    ) {
        for change in EntitlementChange.changes(from: old, to: new) {
            let isGone = change.new.isEmpty
            let row = EntitlementRow(
                key: change.key, userID: change.userID, periods: change.new, terms: change.newTerms)
            if isGone {
                gone.append((purchase, row))
            } else if change.old.isEmpty {
                added.append((purchase, row))
            } else {
                held.append((purchase, row))
            }
            changed.append((purchase: purchase, change: change, cause: occasion.cause))
            purchases.insert(purchase)
        }
    }

    mutating func compare(_ purchase: PurchaseKey, credits old: [LedgerCredit], with new: [LedgerCredit]) {
        for credit in new where !old.contains(credit) {
            credited.append((purchase, credit))
            purchases.insert(purchase)
        }
        for credit in old where !new.contains(credit) {
            former.append((purchase, credit))
            guard !new.contains(where: { $0.isSameEntry(as: credit) }) else { continue }
            uncredited.append((purchase, credit))
            purchases.insert(purchase)
        }
    }

    mutating func compare(stacked old: [StackedPurchase], with new: [StackedPurchase]) {
        let known = Set(old)
        let wanted = Set(new)
        stacked += new.filter { !known.contains($0) }
        unstacked += old.filter { !wanted.contains($0) }
    }
}

extension Pipeline {
    /// Adds the statements that write the projection.
    ///
    /// The stored rows were read under the purchases' locks, so a row without one is new also in a repetition.
    ///
    /// - Parameter catalogVersion: the version of the projection's catalog; `nil` without a catalog.
    package mutating func add(_ changes: RowChanges, catalogVersion: Int64?) {
        addStacks(changes)
        add(EntitlementTable.remove, unlessEmpty: changes.gone)
        add(EntitlementTable.write, new: changes.added, .inserted, others: changes.held)
        add(LedgerTable.remove, unlessEmpty: changes.uncredited)
        add(LedgerTable.write, unlessEmpty: changes.credited)
        if !changes.changed.isEmpty {
            add(ChangeTable.append, ChangeTable.Batch(changes.changed, catalogVersion: catalogVersion))
        }
    }

    /// Adds the statements that write the stacks' entries.
    package mutating func addStacks(_ changes: RowChanges) {
        add(StackedPurchaseTable.remove, unlessEmpty: changes.unstacked)
        add(StackedPurchaseTable.write, unlessEmpty: changes.stacked)
    }
}
