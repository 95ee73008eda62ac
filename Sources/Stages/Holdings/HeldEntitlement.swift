package import Postgres

/// What a user holds: by a purchase, or by a manual grant.
package struct HeldEntitlement: Sendable {
    package let environment: String
    /// Nil for a grant.
    package let bundleID: String?
    /// Nil for a grant.
    package let originalTransactionID: String?
    /// Nil for a purchase.
    package let grantID: Int64?
    package let key: String
    package let periods: [PostgresPeriod]

    /// The columns of `HeldReading`, from the second on.
    package init(_ row: PostgresRow) {
        environment = row.text(1)
        bundleID = row.optionalText(2)
        originalTransactionID = row.optionalText(3)
        grantID = row.optionalInt8(4)
        key = row.text(5)
        periods = row.periods(6)
    }

    private init(_ held: HeldEntitlement, periods: [PostgresPeriod]) {
        environment = held.environment
        bundleID = held.bundleID
        originalTransactionID = held.originalTransactionID
        grantID = held.grantID
        key = held.key
        self.periods = periods
    }

    /// The same with its last periods alone.
    func keeping(lastPeriods count: Int) -> HeldEntitlement {
        HeldEntitlement(self, periods: Array(periods.suffix(count)))
    }

    /// When it ends for good; nil where it never does.
    var end: Int64? {
        periods.last.flatMap(\.endMilliseconds)
    }
}
