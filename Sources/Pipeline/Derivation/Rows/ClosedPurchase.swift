import AppStore
import Entitlements
import Store

/// The closed periods of a scope with a single purchase and a single trust.
struct ClosedPurchase {
    /// Maximum open transactions; if there are more, the oldest are closed.
    static let openMax = 8
    /// Number of transactions that stay open when others are closed.
    static let openMin = 3

    let bundleID: Identifier
    let trust: Trust
    let periods: ClosedPeriods

    /// Whether a record may change a closed period; all facts are needed to decide whether it does.
    func isReopened(by record: EntitleRecord) -> Bool {
        if let fact = record.transaction, !holds(against: fact) { return true }
        return record.renewal.map { periods.mayDepend(on: $0) } ?? false
    }

    /// The rows to store, one for each product.
    func rows(of scope: PurchaseScope) -> [ClosedPeriodTable.Row] {
        periods.periodsByProduct.map { productID, set in
            ClosedPeriodTable.Row(
                scope: scope, productID: productID, bundleID: bundleID, trust: trust, before: periods.before,
                periods: set)
        }
    }

    private func holds(against fact: TransactionFact) -> Bool {
        fact.key.bundleID == bundleID && fact.trust == trust && fact.track == .jws
            && fact.identity.type == .autoRenewable && fact.identity.purchaseDate >= periods.before
    }
}

extension ScopeState {
    /// The closed periods after more of the known transactions are closed.
    ///
    /// `nil` if too few are open, or closing them is not safe.
    func newlyClosed(_ facts: PurchaseFacts, of bundleID: Identifier) -> ClosedPurchase? {
        // A reused ID would remove a transaction from a closed period.
        guard !scope.environment.reusesIDs, facts.transactions.count > ClosedPurchase.openMax, purchases.count == 1,
            let purchase = purchases.first, purchase.bundleID == bundleID, purchase.state.trusts.count == 1,
            let trust = purchase.state.trusts.first, purchase.state.transactions.allSatisfy({ $0.track == .jws }),
            let periods = facts.closed(keeping: ClosedPurchase.openMin)
        else { return nil }
        return ClosedPurchase(bundleID: bundleID, trust: trust, periods: periods)
    }
}
