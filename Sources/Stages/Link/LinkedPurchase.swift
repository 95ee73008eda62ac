import Entitlements
import Store

/// One purchase in work: what is known of it under its lock, and what follows for its owner.
struct LinkedPurchase {
    let state: PurchaseOwnership
    let facts: OwnershipFacts
    /// The account that it belongs to as things are now.
    let group: AppTransactionGroup?
    /// By rules 1 and 2; nil where these name nobody, or were not asked yet.
    var direct: Ownership?
    /// Nil until all rules were asked.
    var owner: StoredOwner?

    init(_ state: PurchaseOwnership) {
        self.state = state
        facts = state.facts
        group = facts.appTransactionID.map { state.key.group($0) }
    }

    /// Whether it no longer names the user to its account whom it named before.
    var withdrawsUser: Bool {
        guard let group = state.storedGroup, let user = state.stored?.directUserID else {
            return false
        }
        return self.group != group || direct?.userID != user
    }
}
