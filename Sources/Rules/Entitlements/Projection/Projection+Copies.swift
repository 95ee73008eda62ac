import AppStore

extension Projection {
    /// The transactions of a purchase, with the copies of a transaction merged.
    ///
    /// A restore or another device gives a purchased period a second transaction ID. The first copy represents all
    /// copies, and ends when any copy does.
    ///
    /// - Parameter transactions: the transactions by purchase date, then by ID; the result has the same order.
    func bought(_ transactions: [MergedTransaction]) -> [MergedTransaction] {
        guard transactions.count > 1, let originals = originals(of: transactions) else { return transactions }
        var bought: [MergedTransaction] = []
        var positions: [Int: Int] = [:]
        for (index, transaction) in transactions.enumerated() {
            if let position = positions[originals[index]] {
                bought[position].join(transaction)
            } else {
                positions[index] = bought.count
                bought.append(transaction)
            }
        }
        return bought
    }

    /// The index of each transaction's first copy, or the transaction's own index if it is the first.
    ///
    /// `nil` if no transaction is a copy.
    private func originals(of transactions: [MergedTransaction]) -> [Int]? {
        var originals = Array(transactions.indices)
        var hasCopies = false
        // No later transaction is a copy of a transaction before this index.
        var first = 0
        for index in transactions.indices {
            while first < index, isPast(transactions[first], at: transactions[index]) { first += 1 }
            for other in first..<index
            where originals[other] != originals[index] && areCopies(transactions[other], transactions[index]) {
                hasCopies = true
                let kept = min(originals[other], originals[index])
                let gone = max(originals[other], originals[index])
                for joined in first...index where originals[joined] == gone { originals[joined] = kept }
            }
        }
        return hasCopies ? originals : nil
    }

    /// Whether neither `later` nor any transaction bought after it can be a copy of `earlier`.
    private func isPast(_ earlier: MergedTransaction, at later: MergedTransaction) -> Bool {
        switch catalog.type(of: earlier) {
        case .nonConsumable: false
        case .autoRenewable:
            !earlier.isBoughtAtOnce(with: later) && earlier.expiresDate.map { $0 <= later.purchaseDate } ?? true
        case .consumable, .nonRenewing, .other, nil: !earlier.isBoughtAtOnce(with: later)
        }
    }

    /// Whether two transactions of a purchase belong to one purchase by the customer.
    private func areCopies(_ left: MergedTransaction, _ right: MergedTransaction) -> Bool {
        guard left.productID == right.productID, left.isOwned(like: right) else { return false }
        let type = catalog.type(of: left)
        guard type == catalog.type(of: right) else { return false }
        return switch type {
        case .nonConsumable: true
        case .consumable, .nonRenewing: left.isBoughtAtOnce(with: right)
        case .autoRenewable: left.isSamePeriod(as: right)
        case .other, nil: false
        }
    }
}

extension MergedTransaction {
    /// Whether the purchase dates are equal in whole seconds, because receipts have no finer dates.
    func isBoughtAtOnce(with other: MergedTransaction) -> Bool {
        purchaseDate.wholeSeconds == other.purchaseDate.wholeSeconds
    }

    /// Whether the ownership types match; a receipt does not state the type: it lists the purchases of its account.
    func isOwned(like other: MergedTransaction) -> Bool {
        (ownershipType ?? .purchased) == (other.ownershipType ?? .purchased)
    }

    /// Whether both transactions were billed together for the same period.
    ///
    /// Seats that were added to a period were billed separately and are not copies.
    fileprivate func isSamePeriod(as other: MergedTransaction) -> Bool {
        guard additionalTransactionReason == nil, other.additionalTransactionReason == nil else { return false }
        if isBoughtAtOnce(with: other), expiresDate?.wholeSeconds == other.expiresDate?.wholeSeconds { return true }
        guard let webOrderLineItemID, webOrderLineItemID == other.webOrderLineItemID, let expiresDate,
            let otherEnd = other.expiresDate
        else { return false }
        return purchaseDate < otherEnd && other.purchaseDate < expiresDate
    }

    /// Merges another copy of the transaction.
    fileprivate mutating func join(_ copy: MergedTransaction) {
        purchaseDate = min(purchaseDate, copy.purchaseDate)
        startIfFirst = min(startIfFirst, copy.startIfFirst)
        expiresDate = Self.latest(expiresDate, copy.expiresDate)
        revocation = Revocation.joined(revocation, copy.revocation)
        isUpgraded = isUpgraded || copy.isUpgraded
        quantity = max(quantity, copy.quantity)
        if let revoked = copy.revokedSeatQuantity { revokedSeatQuantity = max(revokedSeatQuantity ?? 0, revoked) }
        items = CommerceItem.joined(items, copy.items)
    }

    private static func latest(_ left: Timestamp?, _ right: Timestamp?) -> Timestamp? {
        guard let left, let right else { return left ?? right }
        return max(left, right)
    }
}

extension Revocation {
    /// Merges the revocations of two copies: the earlier date and the greater share.
    fileprivate static func joined(_ left: Revocation?, _ right: Revocation?) -> Revocation? {
        guard let left, let right else { return left ?? right }
        var joined = right.date < left.date ? right : left
        joined.percentage = left.percentage.flatMap { share in right.percentage.map { max($0, share) } }
        return joined
    }
}

extension CommerceItem {
    /// Merges the items of two copies: the same SKU in both is the same item.
    fileprivate static func joined(_ items: [CommerceItem], _ copies: [CommerceItem]) -> [CommerceItem] {
        var joined = items
        var unmatched = Array(items.indices)
        for copy in copies {
            guard let match = unmatched.firstIndex(where: { items[$0].sku == copy.sku }) else {
                joined.append(copy)
                continue
            }
            joined[unmatched.remove(at: match)].join(copy)
        }
        return joined
    }

    private mutating func join(_ copy: CommerceItem) {
        if let date = copy.revocationDate { revocationDate = min(revocationDate ?? date, date) }
        if let other = copy.refund, refund.map({ other.isGreater(than: $0) }) ?? true { refund = other }
    }
}

extension ItemRefund {
    /// Whether the refund is a greater share of the price, or an equal share at an earlier date.
    fileprivate func isGreater(than other: ItemRefund) -> Bool {
        let (mine, theirs) = (Int128(amount) * Int128(other.price), Int128(other.amount) * Int128(price),)
        return mine == theirs ? date < other.date : mine > theirs
    }
}
