import Entitlements
import Store

/// A purchase in work: its facts under its lock, and the owner that follows.
struct LinkedPurchase {
    let state: PurchaseOwnership
    let facts: OwnershipFacts
    /// The account that it belongs to now.
    let group: AppTransactionGroup?
    /// The owner by rules 1 and 2.
    ///
    /// `nil` if these rules name nobody, or were not asked yet.
    var direct: Ownership?
    /// The owner by all rules.
    ///
    /// `nil` until all rules were asked.
    var owner: StoredOwner?

    init(_ state: PurchaseOwnership) {
        self.state = state
        facts = state.facts
        group = facts.appTransactionID.map { state.key.group($0) }
    }

    /// Whether it no longer names the same user to its account as before.
    var withdrawsUser: Bool {
        guard let group = state.storedGroup, let user = state.stored?.directUserID else { return false }
        return self.group != group || direct?.userID != user
    }
}
