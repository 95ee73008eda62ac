package import AppStore
package import Entitlements

/// What the tables know of whose one purchase is, read under its lock.
package struct PurchaseOwnership: Sendable {
    package let key: PurchaseKey
    /// One for each transaction and track.
    package fileprivate(set) var transactions: [TransactionFact] = []
    package fileprivate(set) var renewals: [RenewalFact] = []
    package fileprivate(set) var claims: [UserClaim] = []
    /// Who was found to own it last.
    package fileprivate(set) var stored: StoredOwner?

    package var facts: OwnershipFacts {
        OwnershipFacts(
            of: key,
            transactions: transactions,
            renewals: renewals,
            claims: claims
        )
    }

    /// The account that the purchase belonged to when its owner was found last.
    package var storedGroup: AppTransactionGroup? {
        stored?.appTransactionID.map { key.group($0) }
    }

    /// Whether a renewal info of this trust joins the purchase.
    package func isVouchedFor(by trust: Trust) -> Bool {
        transactions.contains { $0.trust == trust }
    }
}

/// Reads ownership facts and owners of some scopes, as a part of a pipeline.
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

    /// The purchases of the scopes: those that have a transaction.
    ///
    /// Renewal info can add to a purchase, never make one.
    package func purchases(_ answers: PipelineAnswers) -> [PurchaseKey: PurchaseOwnership] {
        var purchases: [PurchaseKey: PurchaseOwnership] = [:]
        purchases.reserveCapacity(scopesCount)
        for fact in answers[facts] {
            let key = fact.purchaseKey
            purchases[key, default: PurchaseOwnership(key: key)].transactions.append(fact)
        }
        let renewals = Dictionary(grouping: answers[renewals], by: \.key.scope)
        if !renewals.isEmpty {
            for key in Array(purchases.keys) {
                purchases[key]?.renewals = renewals[key.scope] ?? []
            }
        }
        for claim in answers[claims] {
            purchases[claim.purchase]?.claims.append(claim.claim)
        }
        for row in answers[owners] {
            purchases[row.key]?.stored = row.owner
        }
        return purchases
    }
}
