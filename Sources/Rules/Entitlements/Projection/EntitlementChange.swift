package import AppStore

/// The change of a purchase's grant to a user under one key.
package struct EntitlementChange: Hashable, Sendable {
    package var key: Identifier
    package var userID: Identifier
    /// The former periods; empty if there was no row.
    package var old: PeriodSet
    /// The present periods; empty if there is no row any more.
    package var new: PeriodSet
    package var oldTerms = EntitlementTerms()
    package var newTerms = EntitlementTerms()
}

extension EntitlementChange {
    /// - Parameters:
    ///   - old: nil if there was no row.
    ///   - new: nil if the row is gone.
    private init(of holder: EntitlementRow.Holder, _ old: EntitlementRow?, _ new: EntitlementRow?) {
        self.init(
            key: holder.key, userID: holder.userID, old: old?.periods ?? PeriodSet(), new: new?.periods ?? PeriodSet(),
            oldTerms: old?.terms ?? EntitlementTerms(), newTerms: new?.terms ?? EntitlementTerms())
    }

    /// The changes from the old rows of a purchase to the new ones; by key, then by user.
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
        return changes.sorted { ($0.key, $0.userID) < ($1.key, $1.userID) }
    }
}
