/// Why a transaction grants the period it grants, or none; shown to support staff.
package enum ProjectionRule: String, CaseIterable, Sendable {
    /// From the purchase to the end of the billed period.
    case billedPeriod = "billed_period"
    /// Until Apple took the transaction back.
    case revoked
    /// Until the purchase of the transaction that replaced it by an upgrade.
    case upgraded
    /// After the end of a period that could not be billed, until the recovering purchase.
    case gracePeriod = "grace_period"
    /// Grace only until the period it extends was taken back.
    case graceAfterRefund = "grace_after_refund"
    /// A subscription's transaction without an end says nothing of when it runs.
    case periodWithoutEnd = "period_without_end"
    /// From the purchase on.
    case oneTimePurchase = "one_time_purchase"
    /// For the catalog's duration, after what the user already holds of the product.
    case stackedDuration = "stacked_duration"
    /// A refunded non-renewing purchase is as if never bought.
    case neverBought = "never_bought"
    /// Credits the ledger, grants no entitlement.
    case consumable
    /// Neither Apple nor the catalog says what kind of product this is.
    case unknownType = "unknown_type"
}
