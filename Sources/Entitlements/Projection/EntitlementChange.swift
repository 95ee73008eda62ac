package import AppStore

/// The change of a purchase's grant to a user under one key.
package struct EntitlementChange: Hashable, Sendable {
    package var key: Identifier
    package var userID: Identifier
    /// Empty if there was no row.
    package var old: PeriodSet
    /// Empty if there is no row any more.
    package var new: PeriodSet

    package init(key: Identifier, userID: Identifier, old: PeriodSet, new: PeriodSet) {
        self.key = key
        self.userID = userID
        self.old = old
        self.new = new
    }

    /// The changes from the old rows of a purchase to the new ones; by key, then by user.
    package static func changes(
        from old: [EntitlementRow],
        to new: [EntitlementRow]
    ) -> [EntitlementChange] {
        if old == new {
            return []
        }
        var changes: [EntitlementChange] = []
        for row in new {
            let before = old.first { $0.key == row.key && $0.userID == row.userID }
            if before?.periods != row.periods {
                changes.append(
                    EntitlementChange(
                        key: row.key,
                        userID: row.userID,
                        old: before?.periods ?? PeriodSet(),
                        new: row.periods
                    )
                )
            }
        }
        for row in old where !new.contains(where: { $0.key == row.key && $0.userID == row.userID })
        {
            changes.append(
                EntitlementChange(
                    key: row.key,
                    userID: row.userID,
                    old: row.periods,
                    new: PeriodSet()
                )
            )
        }
        return changes.sorted { ($0.key, $0.userID) < ($1.key, $1.userID) }
    }
}
