import Entitlements
import Store

/// A locked purchase: its facts, and the owner that follows from them.
struct LinkedPurchase {
    let state: PurchaseOwnership
    let facts: OwnershipFacts
    /// The account that the purchase belongs to now.
    let group: AppTransactionGroup?
    /// The owner by rules 1 and 2.
    ///
    /// `nil` if these rules name nobody or were not applied yet.
    var direct: Ownership?
    /// The owner by all rules.
    ///
    /// `nil` until all rules were applied.
    var owner: StoredOwner?

    init(_ state: PurchaseOwnership) {
        self.state = state
        facts = state.facts
        group = facts.appTransactionID.map { state.key.group($0) }
    }

    /// Whether the purchase no longer names the user that it named to its account before.
    var withdrawsUser: Bool {
        guard let group = state.storedGroup, let user = state.stored?.directUserID else { return false }
        return self.group != group || direct?.userID != user
    }
}
