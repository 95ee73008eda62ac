package import AppStore

/// The known facts of one purchase that may name its owner.
package struct OwnershipFacts: Hashable, Sendable {
    package var originalTransactionID: Identifier
    /// The transactions in any order.
    package var transactions: [OwnershipTransaction]
    /// The account token of the newest renewal info that contains one.
    package var renewalToken: AccountToken?
    /// The purchase's `appTransactionId`, which is unique per Apple Account and app.
    package var appTransactionID: Identifier?
    /// The ingestion service's claims, in any order.
    package var claims: [UserClaim]

    package init(
        originalTransactionID: Identifier, transactions: [OwnershipTransaction] = [], renewalToken: AccountToken? = nil,
        appTransactionID: Identifier? = nil, claims: [UserClaim] = []
    ) {
        self.originalTransactionID = originalTransactionID
        self.transactions = transactions
        self.renewalToken = renewalToken
        self.appTransactionID = appTransactionID
        self.claims = claims
    }
}

/// The facts of one transaction that may name the owner of its purchase.
package struct OwnershipTransaction: Hashable, Sendable {
    package var transactionID: Identifier
    package var purchaseDate: Timestamp
    package var token: AccountToken?
    /// The end of the paid period.
    ///
    /// `nil` if the period has no end.
    package var runsUntil: Timestamp?
}

extension OwnershipTransaction {
    /// Makes the facts of a transaction; an upgrade does not end its period here, because the period still runs for a
    /// user who upgrades within it.
    package init(_ transaction: MergedTransaction, token: AccountToken?) {
        self.init(
            transactionID: transaction.transactionID, purchaseDate: transaction.purchaseDate, token: token,
            runsUntil: Self.end(of: transaction))
    }

    /// Merges the tracks of a transaction; only the JWS track has a token.
    ///
    /// `nil` if there is no track.
    init?(tracks: [TransactionFact]) {
        guard let merged = MergedTransaction(tracks: tracks) else { return nil }
        self.init(merged, token: tracks.first { $0.track == .jws }?.appAccountToken)
    }

    package func isRunning(at date: Timestamp) -> Bool { purchaseDate <= date && (runsUntil.map { date < $0 } ?? true) }

    private static func end(of transaction: MergedTransaction) -> Timestamp? {
        let billed: Timestamp? =
            switch transaction.type {
            case .consumable: transaction.purchaseDate
            case .autoRenewable: transaction.expiresDate ?? transaction.purchaseDate
            case .nonConsumable, .nonRenewing, .other, nil: transaction.expiresDate
            }
        guard let revoked = transaction.revocation?.date else { return billed }
        return billed.map { min($0, revoked) } ?? revoked
    }
}

extension OwnershipFacts {
    /// Collects the facts of a purchase's transactions, and of the renewal infos for its original transaction ID.
    ///
    /// A renewal info counts only if one of the transactions has the same trust.
    ///
    /// - Parameter transactions: the transactions in any order, one for each transaction and track.
    package init(of key: PurchaseKey, transactions: [TransactionFact], renewals: [RenewalFact], claims: [UserClaim]) {
        let vouched = renewals.filter { renewal in transactions.contains { $0.trust == renewal.key.trust } }
        let renewal = vouched.dropFirst().reduce(vouched.first) { $0?.joined(with: $1) }
        var newestWithApp: TransactionFact?
        for fact in transactions where fact.track == .jws && fact.appTransactionID != nil {
            if newestWithApp.map({ Self.isEarlier($0, than: fact) }) ?? true { newestWithApp = fact }
        }
        self.init(
            originalTransactionID: key.originalTransactionID, transactions: Self.merged(transactions),
            renewalToken: renewal?.appAccountToken,
            appTransactionID: newestWithApp?.appTransactionID ?? renewal?.appTransactionID, claims: claims)
    }

    private static func isEarlier(_ fact: TransactionFact, than other: TransactionFact) -> Bool {
        (fact.identity.purchaseDate, fact.key.transactionID) < (other.identity.purchaseDate, other.key.transactionID)
    }

    /// Returns each transaction once, with its tracks merged.
    private static func merged(_ facts: [TransactionFact]) -> [OwnershipTransaction] {
        guard facts.contains(where: { $0.track == .receipt }) else {
            return facts.map { OwnershipTransaction(MergedTransaction($0), token: $0.appAccountToken) }
        }
        return Dictionary(grouping: facts) { $0.key.transactionID }.values.compactMap {
            OwnershipTransaction(tracks: $0)
        }
    }
}
