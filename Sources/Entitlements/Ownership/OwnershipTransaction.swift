package import AppStore

/// What one transaction says about whose its purchase is.
package struct OwnershipTransaction: Hashable, Sendable {
    package var transactionID: String
    package var purchaseDate: Timestamp
    package var token: AccountToken?
    /// Where the period that was paid for ends; nil when nothing ends it.
    package var runsUntil: Timestamp?

    package init(
        transactionID: String,
        purchaseDate: Timestamp,
        token: AccountToken? = nil,
        runsUntil: Timestamp? = nil
    ) {
        self.transactionID = transactionID
        self.purchaseDate = purchaseDate
        self.token = token
        self.runsUntil = runsUntil
    }

    /// An upgrade does not end the period here: who upgrades in the middle of it is still the one
    /// for whom it runs.
    package init(_ transaction: MergedTransaction, token: AccountToken?) {
        self.init(
            transactionID: transaction.transactionID,
            purchaseDate: transaction.purchaseDate,
            token: token,
            runsUntil: Self.end(of: transaction)
        )
    }

    /// Of the tracks of a transaction, only the JWS knows a token.
    ///
    /// Nil when there is no track.
    package init?(tracks: [Track: TransactionFact]) {
        guard let merged = MergedTransaction(tracks: Array(tracks.values)) else { return nil }
        self.init(merged, token: tracks[.jws]?.appAccountToken)
    }

    package func isRunning(at date: Timestamp) -> Bool {
        purchaseDate <= date && (runsUntil.map { date < $0 } ?? true)
    }

    func precedes(_ other: OwnershipTransaction) -> Bool {
        (purchaseDate, transactionID) < (other.purchaseDate, other.transactionID)
    }

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
