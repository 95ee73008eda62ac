import AppStore

extension MergedTransaction {
    /// Makes one transaction of its two tracks.
    ///
    /// Where both know a field the newer signed date decides, of equal dates the JWS. The receipt
    /// may add a revocation but never lift one, since an absent one may only mean that it was not
    /// asked for; how new it is, the receipt says that brought it. A date that both know within the
    /// same second is the JWS's, which is finer.
    package init(jws: TransactionFact, receipt: TransactionFact) {
        self.init(jws)
        let isReceiptNewer = receipt.revision.signedDate > jws.revision.signedDate
        let (newer, older) = isReceiptNewer ? (receipt, jws) : (jws, receipt)
        type = jws.identity.type ?? receipt.identity.type
        quantity = max(1, jws.identity.quantity ?? receipt.identity.quantity ?? 1)
        isUpgraded = newer.isUpgraded ?? older.isUpgraded ?? false
        expiresDate = Self.finer(
            newer.expiresDate ?? older.expiresDate,
            than: jws.expiresDate
        )
        revocation = jws.revocation
        if let added = receipt.revocation, let revoking = receipt.revoking,
            revoking.signedDate > jws.revision.signedDate
        {
            revocation = Revocation(
                date: Self.finer(added.date, than: jws.revocation?.date) ?? added.date,
                percentage: added.percentage ?? jws.revocation?.percentage,
                reason: added.reason ?? jws.revocation?.reason,
                type: added.type ?? jws.revocation?.type
            )
        }
    }

    /// Makes one transaction of the tracks that are known of it; nil when there is none.
    package init?(tracks: [TransactionFact]) {
        let jws = tracks.first { $0.track == .jws }
        let receipt = tracks.first { $0.track == .receipt }
        if let jws, let receipt {
            self.init(jws: jws, receipt: receipt)
        } else if let only = jws ?? receipt {
            self.init(only)
        } else {
            return nil
        }
    }

    private static func finer(_ date: Timestamp?, than signed: Timestamp?) -> Timestamp? {
        guard let date, let signed, date.wholeSeconds == signed.wholeSeconds else { return date }
        return signed
    }
}
