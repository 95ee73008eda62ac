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

    /// Whether a renewal info of this trust applies to the purchase.
    package func isVouchedFor(by trust: Trust) -> Bool { transactions.contains { $0.trust == trust } }
}

/// Reads ownership facts and owners of scopes, as part of a pipeline.
package struct OwnershipReading {
    private let facts: Pipeline.Token<TransactionFact>
    private let renewals: Pipeline.Token<RenewalFact>
    private let claims: Pipeline.Token<OwnershipFactTables.Claim>
    private let owners: Pipeline.Token<OwnerTable.Row>
    private let scopesCount: Int

    package init(_ scopes: [PurchaseScope], in pipeline: inout Pipeline) {
        facts = pipeline.add(OwnershipFactTables.readFacts, scopes)
        renewals = pipeline.add(OwnershipFactTables.readRenewals, scopes)
        claims = pipeline.add(OwnershipFactTables.readClaims, scopes)
        owners = pipeline.add(OwnerTable.read, scopes)
        scopesCount = scopes.count
    }

    /// The distinct purchases of the scopes that have a transaction.
    ///
    /// Renewal info adds to a purchase but does not create one.
    package func purchases(_ answers: PipelineAnswers) -> [PurchaseOwnership] {
        var purchases: [PurchaseOwnership] = []
        var indexes: [PurchaseKey: Int] = [:]
        purchases.reserveCapacity(scopesCount)
        indexes.reserveCapacity(scopesCount)
        for fact in answers[facts] {
            let key = fact.purchaseKey
            if let index = indexes[key] {
                purchases[index].transactions.append(fact)
            } else {
                indexes[key] = purchases.count
                purchases.append(PurchaseOwnership(key: key, transactions: [fact]))
            }
        }
        let renewals = Dictionary(grouping: answers[renewals], by: \.key.scope)
        if !renewals.isEmpty {
            for index in purchases.indices { purchases[index].renewals = renewals[purchases[index].key.scope] ?? [] }
        }
        for claim in answers[claims] {
            if let index = indexes[claim.purchase] { purchases[index].claims.append(claim.claim) }
        }
        for row in answers[owners] { if let index = indexes[row.key] { purchases[index].stored = row.owner } }
        return purchases
    }
}
