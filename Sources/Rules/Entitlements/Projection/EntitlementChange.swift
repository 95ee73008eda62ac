package import AppStore

/// The change of a purchase's grant to a user under one entitlement key.
package struct EntitlementChange: Hashable, Sendable {
    package var key: Identifier
    package var userID: Identifier
    /// The former periods; empty without a former row.
    package var old: PeriodSet
    /// The present periods; empty if the row was removed.
    package var new: PeriodSet
    package var oldTerms = EntitlementTerms()
    package var newTerms = EntitlementTerms()
    /// The user who loses the purchase's grant under this key by the same change.
    ///
    /// `nil` unless the user had no row before.
    package var formerUserID: Identifier?

    /// Whether only a status differs, and the former row has none, as rows of versions before 1.4.0.
    package var onlyAddsStatus: Bool {
        var added = oldTerms
        added.status = newTerms.status
        return old == new && added == newTerms && oldTerms.status == SubscriptionStatus()
    }
}

extension EntitlementChange {
    /// - Parameters:
    ///   - old: the former row, or `nil`.
    ///   - new: the present row, or `nil` if it was removed.
    private init(of holder: EntitlementRow.Holder, _ old: EntitlementRow?, _ new: EntitlementRow?) {
        self.init(
            key: holder.key, userID: holder.userID, old: old?.periods ?? PeriodSet(), new: new?.periods ?? PeriodSet(),
            oldTerms: old?.terms ?? EntitlementTerms(), newTerms: new?.terms ?? EntitlementTerms())
    }

    /// The changes from a purchase's old rows to its new rows, sorted by key, then by user.
    package static func changes(from old: [EntitlementRow], to new: [EntitlementRow]) -> [EntitlementChange] {
        if old == new { return [] }
        var changes: [EntitlementChange] = []
        for row in new {
            let before = old.first { $0.holder == row.holder }
            if before != row { changes.append(EntitlementChange(of: row.holder, before, row)) }
        }
        for row in old where !new.contains(where: { $0.holder == row.holder }) {
            changes.append(EntitlementChange(of: row.holder, row, nil))
        }
        let holders = changes.filter { !$0.old.isEmpty }
        for index in changes.indices where changes[index].old.isEmpty {
            changes[index].formerUserID = holders.first { $0.key == changes[index].key }?.userID
        }
        return changes.sorted { ($0.key, $0.userID) < ($1.key, $1.userID) }
    }
}
