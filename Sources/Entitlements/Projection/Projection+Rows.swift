import AppStore

extension Projection {
    /// Unites what the transactions add, by entitlement key and user.
    func rows(
        _ contributions: [Contribution],
        sealed: SealedPeriods?,
        _ ownership: Ownership
    ) -> [EntitlementRow] {
        var rows: [RowKey: PeriodSet] = [:]
        for (index, span) in ownership.spans.enumerated() {
            let next = index + 1
            let until = next < ownership.spans.count ? ownership.spans[next].from : nil
            for (key, periods) in periodsByKey(contributions, sealed, of: span.userID) {
                rows[RowKey(key: key, userID: span.userID), default: PeriodSet()]
                    .formUnion(periods.clipped(from: span.from, until: until))
            }
        }
        return rows.filter { !$0.value.isEmpty }
            .map { EntitlementRow(key: $0.key, userID: $0.userID, periods: $1) }
            .sorted { ($0.key, $0.userID) < ($1.key, $1.userID) }
    }

    private func periodsByKey(
        _ contributions: [Contribution],
        _ sealed: SealedPeriods?,
        of user: String
    ) -> [String: PeriodSet] {
        var byProduct = sealed?.periodsByProduct ?? [:]
        for contribution in contributions {
            guard let period = contribution.period else { continue }
            guard contribution.userID == nil || contribution.userID == user else { continue }
            byProduct[contribution.productID, default: PeriodSet()].insert(period)
        }
        var byKey: [String: PeriodSet] = [:]
        for (productID, periods) in byProduct {
            for key in catalog.entitlementKeys(of: productID) {
                byKey[key, default: PeriodSet()].formUnion(periods)
            }
        }
        return byKey
    }

    private struct RowKey: Hashable {
        let key: String
        let userID: String
    }
}
