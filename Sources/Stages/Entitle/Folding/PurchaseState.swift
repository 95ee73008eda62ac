import AppStore
import Entitlements

/// What is known of one purchase, and the rows that the tables hold of it.
struct PurchaseState {
    private(set) var transactions: [TransactionFact] = []
    /// Places of the transactions that are to be written.
    private(set) var changed: Set<Int> = []
    var ownership = Ownership(spans: [], rule: .unlinked)
    /// The change of the owner that no projection has followed yet; nil where none is open.
    var ownerChange: Int64?
    var rows: [EntitlementRow] = []
    var credits: [LedgerCredit] = []
    var stacked: [StackedPurchase] = []

    var trusts: Set<Trust> {
        var trusts: Set<Trust> = []
        for fact in transactions {
            trusts.insert(fact.trust)
        }
        return trusts
    }

    mutating func learn(_ fact: TransactionFact) {
        transactions.append(fact)
    }

    /// Takes up what a transaction says; nothing of a conflict.
    mutating func take(_ fact: TransactionFact) -> PartVerdict {
        var known: [PartRevision] = []
        var place: Int?
        for (index, other) in transactions.enumerated()
        where other.key.transactionID == fact.key.transactionID {
            known.append(other.part)
            if other.track == fact.track {
                place = index
            }
        }
        let verdict = fact.part.verdict(against: known)
        if verdict == .new || verdict == .refreshed {
            let index = place ?? transactions.count
            if index == transactions.count {
                transactions.append(fact)
            } else {
                transactions[index] = fact
            }
            changed.insert(index)
        }
        return verdict
    }

    /// Each transaction once, its tracks made one.
    var mergedTransactions: [MergedTransaction] {
        guard transactions.contains(where: { $0.track == .receipt }) else {
            return transactions.map { MergedTransaction($0) }
        }
        return Dictionary(grouping: transactions, by: \.key.transactionID)
            .values.compactMap { MergedTransaction(tracks: $0) }
    }

    /// Whose rows might change.
    var users: Set<String> {
        Set(ownership.spans.map(\.userID))
            .union(rows.map(\.userID))
            .union(credits.map(\.userID))
            .union(stacked.map(\.key.userID))
    }
}

extension TransactionFact {
    var part: PartRevision {
        PartRevision(track: track, revision: revision, identity: identity)
    }
}
