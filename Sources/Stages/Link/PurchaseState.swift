import AppStore
import Entitlements

/// What PostgreSQL knows of one purchase, read under its lock.
struct PurchaseState {
    let key: PurchaseKey
    /// By transaction ID.
    var transactions: [String: [Track: TransactionFact]] = [:]
    var renewals: [RenewalFact] = []
    var claims: [UserClaim] = []
    var stored: StoredOwner?

    init(key: PurchaseKey) {
        self.key = key
    }

    var facts: OwnershipFacts {
        OwnershipFacts(
            of: key,
            transactions: Array(transactions.values),
            renewals: renewals,
            claims: claims
        )
    }
}

extension PurchaseState {
    /// The account that the purchase belonged to when it was judged last.
    var storedGroup: AppTransactionGroup? {
        stored?.appTransactionID.map { key.group($0) }
    }

    /// Whether a renewal info of this trust joins the purchase.
    func isVouchedFor(by trust: Trust) -> Bool {
        transactions.values.contains { $0.values.contains { $0.trust == trust } }
    }
}
