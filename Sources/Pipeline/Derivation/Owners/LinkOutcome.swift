import AppStore
import Entitlements
package import Records
package import Store

/// The owners that one batch has found.
package struct LinkOutcome {
    /// The reviewed purchases, each once.
    let purchases: [LinkedPurchase]
    /// The index of each purchase in `purchases`.
    private let indexes: [PurchaseKey: Int]
    /// The purchases that a renewal info of the batch may belong to, in the order of their keys.
    private let renewed: [PurchaseScope: [Int]]
    private let accounts: [AppTransactionGroup: ObservedOwner]
    /// The claims of the batch that are not the first of their transaction; `nil` without claims.
    package let claims: OwnershipFactTables.RaisedClaims?

    /// - Parameter renewed: the scopes with a renewal info in the batch.
    init(
        purchases: [LinkedPurchase] = [], renewed: Set<PurchaseScope> = [],
        accounts: [AppTransactionGroup: ObservedOwner] = [:], claims: OwnershipFactTables.RaisedClaims? = nil
    ) {
        self.purchases = purchases
        self.accounts = accounts
        self.claims = claims
        var indexes: [PurchaseKey: Int] = [:]
        indexes.reserveCapacity(purchases.count)
        for index in purchases.indices { indexes[purchases[index].state.key] = index }
        self.indexes = indexes
        let joined = purchases.indices.filter { index in
            !renewed.isEmpty && renewed.contains(purchases[index].state.key.scope)
        }
        self.renewed = Dictionary(grouping: joined) { purchases[$0].state.key.scope }.mapValues {
            $0.sorted { purchases[$0].state.key < purchases[$1].state.key }
        }
    }

    package func owner(of subject: LinkSubject) -> ObservedOwner {
        switch subject {
        case .purchase(let key): ObservedOwner(indexes[key].flatMap { purchases[$0].owner })
        case .renewal(let key): owner(ofPurchasesJoinedBy: key)
        case .account(let group): accounts[group] ?? .nobody
        case .nothing: .nobody
        }
    }

    private func owner(ofPurchasesJoinedBy renewal: RenewalKey) -> ObservedOwner {
        let joined = (renewed[renewal.scope] ?? []).filter { purchases[$0].state.isVouchedFor(by: renewal.trust) }
        let known = joined.first { purchases[$0].owner?.userID != nil } ?? joined.first
        return ObservedOwner(known.flatMap { purchases[$0].owner })
    }
}

extension ObservedOwner {
    static let nobody = ObservedOwner(userID: nil, rule: OwnershipRule.unlinked.rawValue)

    init(_ stored: StoredOwner?) { self = stored.map { ObservedOwner(userID: $0.userID, rule: $0.rule) } ?? .nobody }
}
