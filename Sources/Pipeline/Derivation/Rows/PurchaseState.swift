import AppStore
import Entitlements

/// The known facts of one purchase, and its stored rows.
struct PurchaseState {
    private(set) var transactions: [TransactionFact] = []
    /// Indexes of the transactions to write.
    private(set) var changed: [Int] = []
    /// Number of transactions, from the first, that may be stored already.
    private var storedCount = 0
    var ownership = Ownership(spans: [], rule: .unlinked)
    /// The change of the owner that no projection includes yet.
    ///
    /// `nil` if every change is included.
    var ownerChange: Int64?
    var rows: [EntitlementRow] = []
    var credits: [LedgerCredit] = []
    var stacked: [StackedPurchase] = []

    private static let transactionsExpected = 4

    var trusts: Set<Trust> {
        var trusts: Set<Trust> = []
        for fact in transactions { trusts.insert(fact.trust) }
        return trusts
    }

    mutating func add(_ fact: TransactionFact) {
        transactions.append(fact)
        storedCount += 1
    }

    func isNew(_ index: Int) -> Bool { index >= storedCount }

    /// Adds a transaction of a record, unless it conflicts with known facts.
    ///
    /// - Returns: the verdict, and whether the fact is the first of its transaction and track. The
    ///   verdict is also `new` if an older revision adds something that counts: a receipt's
    ///   revocation, a token, or an `appTransactionId`.
    mutating func apply(_ fact: TransactionFact) -> (PartVerdict, isFirst: Bool) {
        var known: [PartRevision] = []
        var position: Int?
        for (index, other) in transactions.enumerated() where other.key.transactionID == fact.key.transactionID {
            known.append(other.part)
            if other.track == fact.track { position = index }
        }
        let verdict = fact.part.verdict(against: known)
        if case .conflict = verdict { return (verdict, false) }
        guard let position else {
            if transactions.isEmpty {
                // Reserve space: a subscription's transactions arrive in groups, and moving them is costly.
                transactions.reserveCapacity(Self.transactionsExpected)
                changed.reserveCapacity(Self.transactionsExpected)
            }
            changed.append(transactions.count)
            transactions.append(fact)
            return (verdict, true)
        }
        let before = transactions[position]
        // A fact from a receipt lacks only the fields that no receipt contains.
        let joined = before.joined(with: fact)
        guard joined != before else { return (verdict, false) }
        transactions[position] = joined
        if !changed.contains(position) { changed.append(position) }
        return (verdict == .superseded ? .new : verdict, false)
    }

    /// The known fact of the same ID and track.
    func known(as fact: TransactionFact) -> TransactionFact? {
        transactions.first { $0.key == fact.key && $0.track == fact.track }
    }

    /// Removes a fact whose row moves to another purchase.
    mutating func remove(_ fact: TransactionFact) {
        let written = Set(changed.map { transactions[$0] }).subtracting([fact])
        transactions.removeAll { $0 == fact }
        changed = transactions.indices.filter { written.contains(transactions[$0]) }
        storedCount = transactions.count
    }

    /// The transactions, each with its tracks merged.
    var mergedTransactions: [MergedTransaction] {
        guard transactions.contains(where: { $0.track == .receipt }) else {
            return transactions.map { MergedTransaction($0) }
        }
        return Dictionary(grouping: transactions) { $0.key.transactionID }.values.compactMap {
            MergedTransaction(tracks: $0)
        }
    }

    /// Users whose rows may change.
    var users: Set<Identifier> {
        Set(ownership.spans.map(\.userID)).union(rows.map(\.userID)).union(credits.map(\.userID)).union(
            stacked.map(\.key.userID))
    }
}
