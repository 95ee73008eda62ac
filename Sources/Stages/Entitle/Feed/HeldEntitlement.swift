import Postgres

/// What a user holds: by a purchase, or by a manual grant.
struct HeldEntitlement {
    let environment: String
    /// Nil for a grant.
    let bundleID: String?
    /// Nil for a grant.
    let originalTransactionID: String?
    /// Nil for a purchase.
    let grantID: Int64?
    let key: String
    let periods: [PostgresPeriod]

    /// The columns of `HeldReading`, from the second on.
    init(_ row: PostgresRow) {
        environment = row.text(1)
        bundleID = row.optionalText(2)
        originalTransactionID = row.optionalText(3)
        grantID = row.optionalInt8(4)
        key = row.text(5)
        periods = row.periods(6)
    }
}
