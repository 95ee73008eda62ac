/// When a user may use what one purchase grants under one entitlement key.
package struct EntitlementRow: Hashable, Sendable {
    package var key: String
    package var userID: String
    /// Never empty.
    package var periods: PeriodSet

    package init(key: String, userID: String, periods: PeriodSet) {
        self.key = key
        self.userID = userID
        self.periods = periods
    }
}
