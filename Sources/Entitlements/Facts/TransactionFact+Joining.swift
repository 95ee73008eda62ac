import AppStore

extension TransactionFact {
    /// What brought the revocation; nil where there is none.
    package var revoking: Revision? {
        revocation == nil ? nil : olderRevoking ?? revision
    }

    /// What it says together with another of the same ID and track: the greater revision counts.
    ///
    /// No receipt lifts a revocation, since an absent one may only mean that it was not asked for:
    /// of the receipts that bring one the greatest revision decides, whatever is newer and silent.
    /// Neither order nor repetition changes what several add up to.
    package func joined(with other: TransactionFact) -> TransactionFact {
        var newest = revision < other.revision ? other : self
        guard track == .receipt, let (revocation, revoking) = newestRevocation(or: other) else {
            return newest
        }
        newest.revocation = revocation
        newest.olderRevoking = revoking == newest.revision ? nil : revoking
        return newest
    }

    private func newestRevocation(or other: TransactionFact) -> (Revocation, Revision)? {
        var newest: (Revocation, Revision)?
        for fact in [self, other] {
            guard let revocation = fact.revocation, let revoking = fact.revoking else { continue }
            if newest.map({ $0.1 < revoking }) ?? true {
                newest = (revocation, revoking)
            }
        }
        return newest
    }
}
