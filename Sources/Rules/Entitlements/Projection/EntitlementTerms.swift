package import AppStore

/// The terms of an entitlement, beside its periods; access does not depend on them.
package struct EntitlementTerms: Hashable, Sendable {
    /// The ownership type of the purchase's newest transaction, as signed.
    ///
    /// `nil` if only a receipt lists the purchase.
    package var ownershipType: OwnershipType?
    /// Number of paid seats in the purchase's newest period.
    ///
    /// `nil` unless the entitlement follows from that period and Apple states seats. `nil` also for a member of an
    /// organization or family, whose transaction repeats the purchaser's seats.
    package var seats: Int64?
    /// The reason why several transactions represent that period, as signed.
    ///
    /// `nil` if a single transaction represents the period.
    package var additionalTransactionReason: String?
    /// The status of the subscription; empty unless the entitlement follows from that period.
    package var status: SubscriptionStatus

    package init(
        ownershipType: OwnershipType? = nil, seats: Int64? = nil, additionalTransactionReason: String? = nil,
        status: SubscriptionStatus = SubscriptionStatus()
    ) {
        self.ownershipType = ownershipType
        self.seats = seats
        self.additionalTransactionReason = additionalTransactionReason
        self.status = status
    }
}

extension Projection {
    /// Sets the terms of a purchase's rows.
    ///
    /// The newest period is the period bought last, even before it begins. It is never closed, so closed periods have
    /// no effect here.
    ///
    /// - Parameters:
    ///   - bought: the transactions by purchase date, then by ID, without copies.
    ///   - renewal: the newest renewal info.
    func addTerms(
        to rows: inout [EntitlementRow], of bought: [MergedTransaction], by renewal: RenewalFact?,
        _ contributions: [Contribution], _ ownership: Ownership
    ) {
        for index in rows.indices { rows[index].terms.ownershipType = bought.newest?.ownershipType }
        let subscription = bought.filter { catalog.type(of: $0) == .autoRenewable }
        let period = SubscriptionPeriods.newest(subscription)
        let seats = period.seats
        let reason = period.last { $0.additionalTransactionReason != nil }?.additionalTransactionReason
        let status = renewal.map { self.status(by: $0, after: period, of: subscription) } ?? SubscriptionStatus()
        guard seats != nil || reason != nil || status != SubscriptionStatus() else { return }
        let granted = contributions.filter { contribution in
            period.contains { $0.transactionID == contribution.transactionID }
        }
        let held = Set(self.rows(granted, closed: nil, ownership).map(\.holder))
        for index in rows.indices where held.contains(rows[index].holder) {
            rows[index].terms.seats = seats
            rows[index].terms.additionalTransactionReason = reason
            rows[index].terms.status = status
        }
    }

    /// The status by a renewal info, with the grace that it states if that extends the newest period.
    private func status(
        by renewal: RenewalFact, after period: [MergedTransaction], of subscription: [MergedTransaction]
    ) -> SubscriptionStatus {
        let extended = renewal.spans.flatMap { span in
            SubscriptionPeriods(subscription, [], beginning: nil, catalog: catalog).extended(by: span)
        }.map(\.contribution)
        let grace = extended.first { grace in period.contains { $0.transactionID == grace.transactionID } }?.period
        return SubscriptionStatus(renewal, productID: period.last?.productID, grace: grace)
    }
}

extension [MergedTransaction] {
    /// The transaction bought last; among several in the same second, the last that is not revoked.
    var newest: MergedTransaction? {
        guard let last else { return nil }
        return self.last { $0.isBoughtAtOnce(with: last) && $0.revocation == nil } ?? last
    }

    /// Number of paid seats of a period with these transactions.
    ///
    /// `nil` if Apple states no seats.
    ///
    /// Only multiseat subscriptions have a quantity above 1; a receipt, which lacks the seat information, shows their
    /// seats only by the quantity.
    fileprivate var seats: Int64? {
        guard allSatisfy({ ($0.ownershipType ?? .purchased) == .purchased }),
            contains(where: { $0.quantity > 1 || $0.revokedSeatQuantity != nil })
        else { return nil }
        return reduce(0) { sum, transaction in
            guard transaction.revocation == nil else { return sum }
            let revoked = Swift.max(0, transaction.revokedSeatQuantity ?? 0)
            return sum + Swift.max(0, Int64(transaction.quantity) - Int64(revoked))
        }
    }
}
