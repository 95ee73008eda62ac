import Entitlements
import Store

extension BatchFold {
    /// Puts in place what the tables hold of its scopes, before the records are added.
    mutating func add(_ reading: FactReading, _ answers: PipelineAnswers) {
        for row in answers[reading.closedPeriods] {
            withState(of: row.scope) { $0.add(row) }
        }
        for fact in answers[reading.transactions] {
            withState(of: fact.purchaseKey.scope) { $0[fact.key.bundleID].add(fact) }
        }
        for fact in answers[reading.renewals] {
            withState(of: fact.key.scope) { $0.add(fact) }
        }
        for row in answers[reading.graces] {
            withState(of: row.key.scope) { $0.add(row.grace, of: row.key) }
        }
        for row in answers[reading.owners] {
            withPurchase(row.key) { purchase in
                purchase.ownership = row.owner.ownership
                purchase.ownerChange = row.change
            }
        }
        for row in answers[reading.entitlements] {
            withPurchase(row.purchase) { $0.rows.append(row.row) }
        }
        for row in answers[reading.credits] {
            withPurchase(row.purchase) { $0.credits.append(row.credit) }
        }
        for purchase in answers[reading.stackedPurchases] {
            withPurchase(purchase.purchaseKey) { $0.stacked.append(purchase) }
        }
    }

    private mutating func withPurchase(
        _ key: PurchaseKey,
        _ body: (inout PurchaseState) -> Void
    ) {
        withState(of: key.scope) { body(&$0[key.bundleID]) }
    }
}

extension StackedPurchase {
    var purchaseKey: PurchaseKey {
        PurchaseKey(
            environment: key.environment,
            bundleID: key.bundleID,
            originalTransactionID: originalTransactionID
        )
    }
}
