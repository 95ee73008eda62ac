import AppStore
import Entitlements

/// The sealed part of a scope: one purchase, whose transactions one trust vouches for.
struct Seal {
    /// More open transactions than this are worth a seal.
    static let openMax = 8
    /// How many stay open behind a new seal.
    static let openMin = 3

    let bundleID: String
    let trust: Trust
    let periods: SealedPeriods

    /// Whether a record may change what is sealed, or only the facts can tell whether it does.
    func isBroken(by record: EntitleRecord) -> Bool {
        if let fact = record.transaction, !holds(against: fact) {
            return true
        }
        guard let fact = record.renewal, let grace = fact.grace else { return false }
        return grace.anchor.map { $0 <= periods.before } ?? true
    }

    private func holds(against fact: TransactionFact) -> Bool {
        fact.key.bundleID == bundleID && fact.trust == trust && fact.track == .jws
            && fact.identity.type == .autoRenewable && fact.identity.purchaseDate >= periods.before
    }
}

extension ScopeState {
    /// A seal over more of what is known now; nil where it is not worth it, or not safe.
    func newSeal(_ facts: PurchaseFacts, of bundleID: String) -> Seal? {
        guard facts.transactions.count > Seal.openMax, purchases.count == 1,
            let purchase = purchases[bundleID], purchase.trusts.count == 1,
            let trust = purchase.trusts.first,
            purchase.transactions.allSatisfy({ $0.track == .jws }),
            let periods = facts.sealed(keeping: Seal.openMin)
        else { return nil }
        return Seal(bundleID: bundleID, trust: trust, periods: periods)
    }
}
