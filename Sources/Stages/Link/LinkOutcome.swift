import AppStore
import Entitlements
import Records
import Store

/// What one batch has found out about whose purchases are.
struct LinkOutcome {
    let purchases: [PurchaseKey: PurchaseOwnership]
    /// Those that a renewal info of the batch may join, in order.
    private let scopes: [PurchaseScope: [PurchaseKey]]
    let owners: [PurchaseKey: StoredOwner]
    private let accounts: [AppTransactionGroup: ObservedOwner]
    /// How often ingestion named different users beside one transaction.
    let contradictionCount: Int

    /// - Parameter renewed: what the batch has a renewal info of.
    init(
        purchases: [PurchaseKey: PurchaseOwnership] = [:],
        renewed: Set<PurchaseScope> = [],
        owners: [PurchaseKey: StoredOwner] = [:],
        accounts: [AppTransactionGroup: ObservedOwner] = [:],
        contradictionCount: Int = 0
    ) {
        self.contradictionCount = contradictionCount
        self.purchases = purchases
        scopes = Dictionary(
            grouping: purchases.keys.lazy.filter { renewed.contains($0.scope) },
            by: \.scope
        )
        .mapValues { $0.sorted() }
        self.owners = owners
        self.accounts = accounts
    }

    func owner(of subject: LinkSubject) -> ObservedOwner {
        switch subject {
        case .purchase(let key): ObservedOwner(owners[key])
        case .renewal(let key): owner(ofPurchasesJoinedBy: key)
        case .account(let group): accounts[group] ?? .nobody
        case .nothing: .nobody
        }
    }

    private func owner(ofPurchasesJoinedBy renewal: RenewalKey) -> ObservedOwner {
        let joined = (scopes[renewal.scope] ?? []).filter {
            purchases[$0]?.isVouchedFor(by: renewal.trust) ?? false
        }
        let known = joined.first { owners[$0]?.userID != nil } ?? joined.first
        return ObservedOwner(known.flatMap { owners[$0] })
    }
}

extension ObservedOwner {
    static let nobody = ObservedOwner(userID: nil, rule: OwnershipRule.unlinked.rawValue)

    init(_ stored: StoredOwner?) {
        self = stored.map { ObservedOwner(userID: $0.userID, rule: $0.rule) } ?? .nobody
    }
}
