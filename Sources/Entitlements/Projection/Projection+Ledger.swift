import AppStore

extension Projection {
    /// A credit for each consumable transaction and currency, to whom the purchase belonged then.
    func credits(of facts: PurchaseFacts, _ ownership: Ownership) -> [LedgerCredit] {
        var credits: [LedgerCredit] = []
        for transaction in facts.transactions where catalog.type(of: transaction) == .consumable {
            guard let product = catalog[transaction.productID],
                let user = ownership.userID(at: transaction.purchaseDate)
            else { continue }
            for currency in product.credits.keys.sorted() {
                let unit = product.credits[currency]?.value(at: transaction.purchaseDate)
                guard let unit, unit > 0 else { continue }
                credits.append(credit(transaction, currency, unit, user))
            }
        }
        return credits
    }

    private func credit(
        _ transaction: MergedTransaction,
        _ currency: String,
        _ unit: Int64,
        _ user: String
    ) -> LedgerCredit {
        let amount = unit * Int64(transaction.quantity)
        return LedgerCredit(
            transactionID: transaction.transactionID,
            productID: transaction.productID,
            currency: currency,
            userID: user,
            amount: amount,
            takenBack: transaction.revocation.map { Self.share(of: amount, takenBackBy: $0) } ?? 0,
            purchaseDate: transaction.purchaseDate,
            revocationDate: transaction.revocation?.date
        )
    }

    /// The nearest whole unit, half up; all of it where Apple names no percentage.
    private static func share(of amount: Int64, takenBackBy revocation: Revocation) -> Int64 {
        guard let percentage = revocation.percentage else { return amount }
        let whole = Int128(Revocation.wholePercentage)
        return Int64((Int128(amount) * Int128(percentage) + whole / 2) / whole)
    }
}
