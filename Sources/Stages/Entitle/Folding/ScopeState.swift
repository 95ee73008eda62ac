import AppStore
import Entitlements
import Store

/// What is known of one scope: what the tables held, and what the batch has added to it.
struct ScopeState {
    let scope: PurchaseScope
    /// By app; one in practice.
    private(set) var purchases: [String: PurchaseState] = [:]
    private(set) var renewals: [RenewalFact] = []
    private(set) var graces: [RenewalKey: Set<GracePeriod>] = [:]
    /// What older transactions add up to that are not in `purchases`.
    private(set) var closed: ClosedPurchase?
    /// What is to be written.
    private(set) var changedRenewals: Set<RenewalKey> = []
    private(set) var newGraces: [RenewalKey: Set<GracePeriod>] = [:]

    init(_ scope: PurchaseScope) {
        self.scope = scope
    }

    subscript(bundleID: String) -> PurchaseState {
        get { purchases[bundleID] ?? PurchaseState() }
        set { purchases[bundleID] = newValue }
        _modify { yield &purchases[bundleID, default: PurchaseState()] }
    }

    mutating func add(_ row: ClosedPeriodTable.Row) {
        var periods = closed?.periods ?? ClosedPeriods(before: row.before, periodsByProduct: [:])
        periods.periodsByProduct[row.productID] = row.periods
        closed = ClosedPurchase(bundleID: row.bundleID, trust: row.trust, periods: periods)
    }

    mutating func add(_ fact: RenewalFact) {
        renewals.append(fact)
    }

    mutating func add(_ grace: GracePeriod, of key: RenewalKey) {
        graces[key, default: []].insert(grace)
    }

    /// Adds a renewal info of a record.
    ///
    /// - Returns: whether it says something new: content that decides from now on, or a grace.
    mutating func apply(_ fact: RenewalFact) -> PartVerdict {
        let isNewGrace = addGrace(of: fact)
        let index = renewals.firstIndex { $0.key == fact.key }
        let known = index.map { [PartRevision(revision: renewals[$0].revision)] } ?? []
        let verdict = PartRevision(revision: fact.revision).verdict(against: known)
        if verdict == .new || verdict == .refreshed {
            if let index { renewals[index] = fact } else { renewals.append(fact) }
            changedRenewals.insert(fact.key)
        }
        return isNewGrace ? .new : verdict
    }

    private mutating func addGrace(of fact: RenewalFact) -> Bool {
        guard let grace = fact.grace, graces[fact.key, default: []].insert(grace).inserted else {
            return false
        }
        newGraces[fact.key, default: []].insert(grace)
        return true
    }

    /// The apps whose purchases a renewal info of this trust joins.
    func bundleIDs(joinedBy key: RenewalKey) -> [String] {
        purchases.filter { $0.value.trusts.contains(key.trust) }.map(\.key)
    }

    /// All that the rows of a purchase follow from.
    func facts(of bundleID: String) -> PurchaseFacts {
        let purchase = self[bundleID]
        let closed = self.closed?.bundleID == bundleID ? self.closed?.periods : nil
        guard !graces.isEmpty else {
            return PurchaseFacts(transactions: purchase.mergedTransactions, closed: closed)
        }
        let trusts = purchase.trusts
        let joined = graces.filter { trusts.contains($0.key.trust) }.flatMap(\.value)
        return PurchaseFacts(
            transactions: purchase.mergedTransactions,
            graces: Array(Set(joined)),
            closed: closed
        )
    }
}
