import AppStore
package import Entitlements

/// The results of a set of facts, the links and the catalog, computed from scratch.
///
/// They are the reference of the rows in the database.
package struct EntitlementFold: Sendable {
    package let purchases: [PurchaseKey: PurchaseFacts]
    package let ownership: [PurchaseKey: Ownership]
    package let projected: [PurchaseKey: ProjectedPurchase]

    package init(
        _ facts: FactSet, links: AccountLinks = AccountLinks(), rules: OwnershipRules = OwnershipRules(),
        catalog: Catalog
    ) {
        let grouped = Dictionary(grouping: facts.transactions.values) { tracks in tracks.values.first?.purchaseKey }
        var purchases: [PurchaseKey: PurchaseFacts] = [:]
        var ownershipFacts: [PurchaseKey: OwnershipFacts] = [:]
        for (key, transactions) in grouped {
            guard let key else { continue }
            purchases[key] = Self.purchase(transactions, key, facts)
            ownershipFacts[key] = Self.ownershipFacts(transactions, key, facts)
        }
        self.purchases = purchases
        ownership = Self.ownership(ownershipFacts, links: links, rules: rules)
        projected = Self.project(purchases, ownership, catalog)
    }

    private static func purchase(_ transactions: [[Track: TransactionFact]], _ key: PurchaseKey, _ facts: FactSet)
        -> PurchaseFacts
    {
        let keys = renewalKeys(of: transactions, key)
        let spans = keys.flatMap { facts.spans[$0] ?? [] }
        return PurchaseFacts(
            transactions: transactions.compactMap { MergedTransaction(tracks: Array($0.values)) },
            spans: Array(Set(spans)), renewal: keys.compactMap { facts.renewals[$0] }.max { $0.revision < $1.revision })
    }

    /// Renewal info names no app: it joins by the trust that vouched for the transactions.
    private static func renewalKeys(of transactions: [[Track: TransactionFact]], _ key: PurchaseKey) -> Set<RenewalKey>
    {
        let trusts = transactions.flatMap { $0.values.map(\.trust) }
        return Set(
            Set(trusts).map { trust in
                RenewalKey(environment: key.environment, originalTransactionID: key.originalTransactionID, trust: trust)
            })
    }

    private static func ownershipFacts(_ transactions: [[Track: TransactionFact]], _ key: PurchaseKey, _ facts: FactSet)
        -> OwnershipFacts
    {
        OwnershipFacts(
            of: key, transactions: transactions.flatMap(\.values),
            renewals: facts.renewals.values.filter { renewal in
                renewal.key.environment == key.environment
                    && renewal.key.originalTransactionID == key.originalTransactionID
            }, claims: Array(facts.claims[key] ?? []))
    }

    private static func ownership(_ facts: [PurchaseKey: OwnershipFacts], links: AccountLinks, rules: OwnershipRules)
        -> [PurchaseKey: Ownership]
    {
        let groups = Dictionary(grouping: facts.keys) { key in
            facts[key]?.appTransactionID.map { id in
                AppTransactionGroup(environment: key.environment, bundleID: key.bundleID, appTransactionID: id)
            }
        }
        var ownership: [PurchaseKey: Ownership] = [:]
        for (group, keys) in groups {
            let purchases = keys.compactMap { key in facts[key].map { (key, $0) } }
            let owners = purchases.map { rules.directOwnership(of: $1, links: links)?.userID }
            let siblings = group == nil ? SiblingOwner.none : SiblingOwner(owners: owners)
            for (key, facts) in purchases {
                ownership[key] = rules.ownership(of: facts, links: links, siblings: siblings)
            }
        }
        return ownership
    }

    private static func project(
        _ purchases: [PurchaseKey: PurchaseFacts], _ ownership: [PurchaseKey: Ownership], _ catalog: Catalog
    ) -> [PurchaseKey: ProjectedPurchase] {
        let projection = Projection(catalog: catalog)
        var stacked: [StackedPurchase] = []
        for (key, facts) in purchases {
            let spans = ownership[key]?.spans ?? []
            stacked += projection.stackedPurchases(of: facts, key, spans: spans)
        }
        let stacks = NonRenewingStacks(stacked, catalog: catalog)
        return Dictionary(
            uniqueKeysWithValues: purchases.map { key, facts in
                let owner = ownership[key] ?? Ownership(spans: [], rule: .unlinked)
                let projected = projection.project(facts, of: key, ownership: owner, stacks: stacks)
                return (key, projected)
            })
    }
}
