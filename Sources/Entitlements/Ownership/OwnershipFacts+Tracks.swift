import AppStore

extension OwnershipFacts {
    /// Gathers what a purchase's transactions and the renewal infos of its original transaction ID
    /// say; of the latter only those count that a trust of its transactions vouched for.
    package init(
        of key: PurchaseKey,
        transactions: [[Track: TransactionFact]],
        renewals: [RenewalFact],
        claims: [UserClaim]
    ) {
        let trusts = Set(transactions.flatMap { $0.values.map(\.trust) })
        let newestRenewal =
            renewals
            .filter { trusts.contains($0.key.trust) }
            .max { ($0.revision, $0.key) < ($1.revision, $1.key) }
        let newestWithApp =
            transactions
            .compactMap { $0[.jws] }
            .filter { $0.appTransactionID != nil }
            .max { left, right in
                (left.identity.purchaseDate, left.key.transactionID)
                    < (right.identity.purchaseDate, right.key.transactionID)
            }
        self.init(
            originalTransactionID: key.originalTransactionID,
            transactions: transactions.compactMap { OwnershipTransaction(tracks: $0) },
            renewalToken: newestRenewal?.appAccountToken,
            appTransactionID: newestWithApp?.appTransactionID
                ?? newestRenewal?.appTransactionID,
            claims: claims
        )
    }
}
