import Entitlements

/// What has to be written so that the tables hold what was projected.
struct RowChanges {
    struct Held {
        let purchase: PurchaseKey
        let row: EntitlementRow
    }

    struct Credited {
        let purchase: PurchaseKey
        let credit: LedgerCredit
    }

    struct Changed {
        let purchase: PurchaseKey
        let change: EntitlementChange
        let cause: ChangeCause
    }

    private(set) var held: [Held] = []
    private(set) var gone: [Held] = []
    private(set) var credited: [Credited] = []
    private(set) var uncredited: [Credited] = []
    private(set) var stacked: [StackedPurchase] = []
    private(set) var unstacked: [StackedPurchase] = []
    private(set) var changed: [Changed] = []
    /// The purchases of which anything is written.
    private(set) var purchases: Set<PurchaseKey> = []

    /// Those whose rows change: nobody else may change them meanwhile.
    var users: Set<String> {
        Set(changed.map(\.change.userID))
            .union(credited.map(\.credit.userID))
            .union(uncredited.map(\.credit.userID))
    }

    mutating func compare(
        _ purchase: PurchaseKey,
        rows old: [EntitlementRow],
        with new: [EntitlementRow],
        cause: ChangeCause
    ) {
        for change in EntitlementChange.changes(from: old, to: new) {
            let isGone = change.new.isEmpty
            let row = EntitlementRow(
                key: change.key,
                userID: change.userID,
                periods: change.new
            )
            if isGone {
                gone.append(Held(purchase: purchase, row: row))
            } else {
                held.append(Held(purchase: purchase, row: row))
            }
            changed.append(Changed(purchase: purchase, change: change, cause: cause))
            purchases.insert(purchase)
        }
    }

    mutating func compare(
        _ purchase: PurchaseKey,
        credits old: [LedgerCredit],
        with new: [LedgerCredit]
    ) {
        for credit in new where !old.contains(credit) {
            credited.append(Credited(purchase: purchase, credit: credit))
            purchases.insert(purchase)
        }
        for credit in old where !new.contains(where: { $0.isSameEntry(as: credit) }) {
            uncredited.append(Credited(purchase: purchase, credit: credit))
            purchases.insert(purchase)
        }
    }

    mutating func compare(stacked old: [StackedPurchase], with new: [StackedPurchase]) {
        let known = Set(old)
        let wanted = Set(new)
        stacked += new.filter { !known.contains($0) }
        unstacked += old.filter { !wanted.contains($0) }
    }
}
