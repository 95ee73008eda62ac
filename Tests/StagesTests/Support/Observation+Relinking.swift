import AppStore
import Entitlements
import Records

extension Observation {
    /// The link observation of `link-worker` for a purchase with a changed owner.
    static func relinking(_ key: PurchaseKey) -> Observation {
        Observation(relinking: key, owner: ObservedOwner(userID: "anna", rule: "account_token"))
    }
}
