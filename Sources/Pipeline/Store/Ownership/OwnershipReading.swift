package import AppStore
package import Entitlements

/// The stored facts about one purchase's owner, read under its lock.
package struct PurchaseOwnership: Sendable {
    package let key: PurchaseKey
    /// Facts of the transactions, one for each transaction and track.
    package fileprivate(set) var transactions: [TransactionFact] = []
    package fileprivate(set) var renewals: [RenewalFact] = []
    package fileprivate(set) var claims: [UserClaim] = []
    /// The stored owner.
    package fileprivate(set) var stored: StoredOwner?

    package var facts: OwnershipFacts {
        OwnershipFacts(of: key, transactions: transactions, renewals: renewals, claims: claims)
    }

    /// The account of the purchase when its owner was last determined.
    package var storedGroup: AppTransactionGroup? { stored?.appTransactionID.map { key.group($0) } }

    /// Adds a fact of a batch, and collects it if it differs from the stored one.
    fileprivate mutating func add(_ fact: TransactionFact, to new: inout NewOwnershipFacts) {
        guard let index = transactions.firstIndex(where: { $0.key == fact.key && $0.track == fact.track }) else {
            transactions.append(fact)
            new.first.append(fact)
            return
        }
        let joined = transactions[index].joined(with: fact)
        guard joined != transactions[index] else { return }
        transactions[index] = joined
        new.others.append(joined)
    }

    /// Whether a renewal info of this trust applies to the purchase.
    package func isVouchedFor(by trust: Trust) -> Bool { transactions.contains { $0.trust == trust } }
}

/// The facts of a batch that add to the stored ones, each merged with its stored fact.
package struct NewOwnershipFacts {
    /// Facts of which no revision is stored.
    package fileprivate(set) var first: [TransactionFact] = []
    package fileprivate(set) var others: [TransactionFact] = []
    package fileprivate(set) var renewals: [RenewalFact] = []

    package init() {}
}

/// Reads ownership facts and owners of scopes, as part of a pipeline.
package struct OwnershipReading {
    private let facts: Pipeline.Token<TransactionFact>
    private let renewals: Pipeline.Token<RenewalFact>
    private let claims: [Pipeline.Token<OwnershipFactTables.Claim>]
    private let owners: Pipeline.Token<OwnerTable.Row>
    private let scopesCount: Int

    /// - Parameter restores: whether users are read who came later with another user's transaction.
    package init(_ scopes: [PurchaseScope], restores: Bool, in pipeline: inout Pipeline) {
        facts = pipeline.add(OwnershipFactTables.readFacts, scopes)
        renewals = pipeline.add(OwnershipFactTables.readRenewals, scopes)
        claims =
            [pipeline.add(OwnershipFactTables.readClaims, scopes)]
            + (restores ? [pipeline.add(OwnershipFactTables.readRestores, scopes)] : [])
        owners = pipeline.add(OwnerTable.read, scopes)
        scopesCount = scopes.count
    }

    /// The distinct purchases of the scopes that have a transaction, stored or added.
    ///
    /// Renewal info adds to a purchase but does not create one.
    ///
    /// - Parameters:
    ///   - facts: the facts of a batch, one for each transaction and track.
    ///   - renewals: the renewal infos of a batch, one for each key.
    package func purchases(
        _ answers: PipelineAnswers, adding facts: [TransactionFact] = [], _ renewals: [RenewalKey: RenewalFact] = [:]
    ) -> (purchases: [PurchaseOwnership], new: NewOwnershipFacts) {
        var new = NewOwnershipFacts()
        var purchases: [PurchaseOwnership] = []
        var indexes: [PurchaseKey: Int] = [:]
        purchases.reserveCapacity(scopesCount)
        indexes.reserveCapacity(scopesCount)
        func index(of key: PurchaseKey) -> Int {
            if let index = indexes[key] { return index }
            indexes[key] = purchases.count
            purchases.append(PurchaseOwnership(key: key))
            return purchases.count - 1
        }
        for fact in answers[self.facts] { purchases[index(of: fact.purchaseKey)].transactions.append(fact) }
        for fact in facts { purchases[index(of: fact.purchaseKey)].add(fact, to: &new) }
        var known = Dictionary(answers[self.renewals].map { ($0.key, $0) }) { $1 }
        for (key, fact) in renewals {
            let joined = known[key]?.joined(with: fact) ?? fact
            if joined != known.updateValue(joined, forKey: key) { new.renewals.append(joined) }
        }
        if !known.isEmpty {
            let byScope = Dictionary(grouping: known.values, by: \.key.scope)
            for index in purchases.indices { purchases[index].renewals = byScope[purchases[index].key.scope] ?? [] }
        }
        for claim in claims.lazy.flatMap({ answers[$0] }) {
            if let index = indexes[claim.purchase] { purchases[index].claims.append(claim.claim) }
        }
        for row in answers[owners] { if let index = indexes[row.key] { purchases[index].stored = row.owner } }
        return (purchases, new)
    }
}
