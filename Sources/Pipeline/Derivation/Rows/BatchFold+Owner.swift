package import AppStore
import Entitlements
import Records
import Store

extension BatchFold {
    /// The owner of a record's purchase.
    ///
    /// `nil` if unknown.
    ///
    /// A record without a purchase names the user that `link-worker` found behind its account.
    package func userID(of record: EntitleRecord) -> Identifier? {
        if let key = record.transaction?.purchaseKey ?? record.relinkedPurchase {
            return state(of: key.scope)?[key.bundleID].ownership.userID
        }
        if let renewal = record.renewal {
            guard let state = state(of: renewal.key.scope) else { return nil }
            return state.bundleIDs(joinedBy: renewal.key).sorted().lazy.compactMap { state[$0].ownership.userID }.first
        }
        return record.owner?.userID
    }

    private func state(of scope: PurchaseScope) -> ScopeState? { stateIndexes[scope].map { states[$0] } }
}
