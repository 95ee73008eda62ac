package import AppStore

extension Projection {
    /// The credits of transactions to their owner at that time, for each consumable product and currency; sorted by
    /// transaction, product and currency.
    func credits(of bought: [MergedTransaction], _ ownership: Ownership) -> [LedgerCredit] {
        var credits: [LedgerCredit] = []
        for transaction in bought {
            guard let user = ownership.userID(at: transaction.purchaseDate) else { continue }
            credits += CreditedTransaction(transaction, user, catalog: catalog).credits
        }
        return credits
    }
}

/// The credits of one transaction, which may be a consumable itself or contain consumable items.
private struct CreditedTransaction {
    private let transaction: MergedTransaction
    private let userID: Identifier
    private let catalog: Catalog

    init(_ transaction: MergedTransaction, _ userID: Identifier, catalog: Catalog) {
        self.transaction = transaction
        self.userID = userID
        self.catalog = catalog
    }

    var credits: [LedgerCredit] {
        guard let type = catalog.type(of: transaction), !type.isUnknown else { return [] }
        var credits: [LedgerCredit] = []
        if type == .consumable, let product = catalog[transaction.productID] {
            credits = self.credits(of: product, item: nil)
        }
        for item in transaction.items {
            guard let product = catalog[item.sku], product.type == .consumable else { continue }
            credits += self.credits(of: product, item: item)
        }
        return transaction.items.isEmpty ? credits : merged(credits)
    }

    private func credits(of product: Product, item: CommerceItem?) -> [LedgerCredit] {
        product.credits.keys.sorted().compactMap { currency in
            let unit = product.credits[currency]?.value(at: transaction.purchaseDate)
            guard let unit, unit > 0 else { return nil }
            let amount = unit * Int64(transaction.quantity)
            let takenBack = takenBack(amount, of: item)
            return LedgerCredit(
                transactionID: transaction.transactionID, productID: product.id, currency: currency, userID: userID,
                amount: amount, takenBack: takenBack?.amount ?? 0, purchaseDate: transaction.purchaseDate,
                revocationDate: takenBack?.date)
        }
    }

    /// The greatest share that a revocation of the transaction or of the item removes, and its date; of equal shares
    /// the first.
    private func takenBack(_ amount: Int64, of item: CommerceItem?) -> TakenBack? {
        var all: [TakenBack] = []
        if let revocation = transaction.revocation {
            let whole = Int64(Revocation.wholePercentage)
            let part = Int64(revocation.percentage ?? Revocation.wholePercentage)
            all.append(TakenBack(amount, part: part, of: whole, at: revocation.date))
        }
        if let date = item?.revocationDate { all.append(TakenBack(amount, part: 1, of: 1, at: date)) }
        if let refund = item?.refund {
            all.append(TakenBack(amount, part: refund.amount, of: refund.price, at: refund.date))
        }
        return all.max { ($0.amount, $1.date) < ($1.amount, $0.date) }
    }

    /// Merges the credits of a transaction's items with the same product.
    private func merged(_ credits: [LedgerCredit]) -> [LedgerCredit] {
        var merged: [LedgerCredit] = []
        let ordered = credits.sorted { ($0.productID, $0.currency) < ($1.productID, $1.currency) }
        for credit in ordered {
            guard let last = merged.last, last.isSameEntry(as: credit) else {
                merged.append(credit)
                continue
            }
            merged[merged.count - 1].add(credit)
        }
        return merged
    }
}

private struct TakenBack {
    let amount: Int64
    let date: Timestamp

    /// Computes a share rounded to the nearest whole unit, half up.
    init(_ amount: Int64, part: Int64, of whole: Int64, at date: Timestamp) {
        self.amount = Int64((2 * Int128(amount) * Int128(part) + Int128(whole)) / (2 * Int128(whole)))
        self.date = date
    }
}

extension LedgerCredit {
    /// Adds another credit, saturating: nobody sells so many units, but such a payload must not stop the worker.
    fileprivate mutating func add(_ other: LedgerCredit) {
        amount = Int64(clamping: Int128(amount) + Int128(other.amount))
        takenBack = Int64(clamping: Int128(takenBack) + Int128(other.takenBack))
        if let date = other.revocationDate { revocationDate = max(revocationDate ?? date, date) }
    }
}

/// The credit of one transaction for one consumable product in one currency, with the part that a refund removed.
package struct LedgerCredit: Hashable, Sendable {
    package var transactionID: Identifier
    package var productID: Identifier
    package var currency: Identifier
    package var userID: Identifier
    package var amount: Int64
    package var takenBack: Int64
    package var purchaseDate: Timestamp
    package var revocationDate: Timestamp?

    package init(
        transactionID: Identifier, productID: Identifier, currency: Identifier, userID: Identifier, amount: Int64,
        takenBack: Int64, purchaseDate: Timestamp, revocationDate: Timestamp?
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.currency = currency
        self.userID = userID
        self.amount = amount
        self.takenBack = takenBack
        self.purchaseDate = purchaseDate
        self.revocationDate = revocationDate
    }

    package var balance: Int64 { amount - takenBack }

    /// Whether both are the ledger's single entry for this transaction, product and currency.
    package func isSameEntry(as other: LedgerCredit) -> Bool {
        transactionID == other.transactionID && productID == other.productID && currency == other.currency
    }
}
