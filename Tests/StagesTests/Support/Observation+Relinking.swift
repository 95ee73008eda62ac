import AppStore
import Entitlements
import Records

extension Observation {
    /// What `link-worker` says of a purchase whose owner changed without a record of its own.
    static func relinking(_ key: PurchaseKey) -> Observation {
        Observation(
            relinking: key,
            owner: ObservedOwner(userID: "anna", rule: "account_token")
        )
    }
}
