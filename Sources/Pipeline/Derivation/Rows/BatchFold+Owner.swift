import AppStore
import Entitlements
package import Records
import Store

extension BatchFold {
    /// The owner of a record's purchase, and the rule that found it.
    ///
    /// `nil` if the record has no purchase and no known account.
    ///
    /// A record without a purchase names the user that `link-worker` found behind its account.
    package func owner(of record: EntitleRecord) -> ObservedOwner? {
        if let key = record.transaction?.purchaseKey ?? record.relinkedPurchase {
            return state(of: key.scope).map { ObservedOwner($0[key.bundleID].ownership) }
        }
        if let renewal = record.renewal {
            guard let state = state(of: renewal.key.scope) else { return nil }
            let owners = state.bundleIDs(joinedBy: renewal.key).sorted().map { ObservedOwner(state[$0].ownership) }
            return owners.first { $0.userID != nil } ?? owners.first
        }
        return record.owner
    }

    private func state(of scope: PurchaseScope) -> ScopeState? { stateIndexes[scope].map { states[$0] } }
}

extension ObservedOwner {
    fileprivate init(_ ownership: Ownership) { self.init(userID: ownership.userID, rule: ownership.rule.rawValue) }
}
