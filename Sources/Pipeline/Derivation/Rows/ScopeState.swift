import AppStore
import Entitlements
import Store

/// The state of one scope: the stored facts and the batch's additions.
struct ScopeState {
    let scope: PurchaseScope
    /// The purchases, one for each app.
    ///
    /// A scope usually has a single one, so the list is searched without an index.
    private(set) var purchases: [(bundleID: Identifier, state: PurchaseState)] = []
    private(set) var renewals: [RenewalFact] = []
    private(set) var spans: [RenewalKey: Set<RenewalSpan>] = [:]
    /// The closed periods of older transactions, which are not in `purchases`.
    private(set) var closed: ClosedPurchase?
    private(set) var changedRenewals: Set<RenewalKey> = []
    private(set) var newSpans: [RenewalKey: Set<RenewalSpan>] = [:]

    init(_ scope: PurchaseScope) { self.scope = scope }

    /// The state of an app's purchase; empty if the scope has no purchase of this app.
    subscript(bundleID: Identifier) -> PurchaseState {
        get { index(of: bundleID).map { purchases[$0].state } ?? PurchaseState() }
        _modify {
            let index = index(of: bundleID) ?? purchases.count
            if index == purchases.count { purchases.append((bundleID, PurchaseState())) }
            yield &purchases[index].state
        }
    }

    private func index(of bundleID: Identifier) -> Int? {
        for index in purchases.indices where purchases[index].bundleID == bundleID { return index }
        return nil
    }

    mutating func add(_ row: ClosedPeriodTable.Row) {
        var periods = closed?.periods ?? ClosedPeriods(before: row.before, periodsByProduct: [:])
        periods.periodsByProduct[row.productID] = row.periods
        closed = ClosedPurchase(bundleID: row.bundleID, trust: row.trust, periods: periods)
    }

    mutating func add(_ fact: RenewalFact) { renewals.append(fact) }

    mutating func add(_ row: RenewalTable.Span) { spans[row.key, default: []].insert(row.span) }

    /// Adds a renewal info of a record.
    ///
    /// - Returns: the verdict, which is `new` for newest content, and for an added name or span.
    mutating func apply(_ fact: RenewalFact) -> PartVerdict {
        let isNewSpan = addSpans(of: fact)
        let index = renewals.firstIndex { $0.key == fact.key }
        let known = index.map { [PartRevision(revision: renewals[$0].revision)] } ?? []
        let verdict = PartRevision(revision: fact.revision).verdict(against: known)
        let before = index.map { renewals[$0] }
        let joined = before?.joined(with: fact) ?? fact
        guard joined != before else { return isNewSpan ? .new : verdict }
        if let index { renewals[index] = joined } else { renewals.append(joined) }
        changedRenewals.insert(fact.key)
        return isNewSpan || verdict == .superseded ? .new : verdict
    }

    private mutating func addSpans(of fact: RenewalFact) -> Bool {
        var isNew = false
        for span in fact.spans where spans[fact.key, default: []].insert(span).inserted {
            newSpans[fact.key, default: []].insert(span)
            isNew = true
        }
        return isNew
    }

    /// The apps whose purchases a renewal info with this key's trust belongs to.
    func bundleIDs(joinedBy key: RenewalKey) -> [Identifier] {
        purchases.filter { $0.state.trusts.contains(key.trust) }.map(\.bundleID)
    }

    /// All facts from which the rows of a purchase are projected.
    func facts(of bundleID: Identifier) -> PurchaseFacts {
        let purchase = self[bundleID]
        let closed = self.closed?.bundleID == bundleID ? self.closed?.periods : nil
        guard !renewals.isEmpty || !spans.isEmpty else {
            return PurchaseFacts(transactions: purchase.mergedTransactions, closed: closed)
        }
        let trusts = purchase.trusts
        let joined = spans.filter { trusts.contains($0.key.trust) }.flatMap(\.value)
        let renewal = renewals.filter { trusts.contains($0.key.trust) }.max { $0.revision < $1.revision }
        return PurchaseFacts(
            transactions: purchase.mergedTransactions, spans: Array(Set(joined)), renewal: renewal, closed: closed)
    }
}
