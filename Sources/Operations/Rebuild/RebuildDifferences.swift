import EntitleStage
import Entitlements
import LinkStage

/// Where some purchases' rows are not what the facts say.
struct RebuildDifferences {
    var owners: [OwnerDifference] = []
    var rows: [RowDifference] = []
    /// Purchases of which PostgreSQL does not take what they should be.
    var refused: [RefusedPurchase] = []

    var count: Int { owners.count + rows.count }

    var lines: [String] { owners.map(\.line) + rows.map(\.line) + refused.map(\.line) }

    var jsonLines: [String] { owners.map(\.json) + rows.map(\.json) + refused.map(\.json) }
}

/// A purchase that could not be compared, and why; the others are.
struct RefusedPurchase {
    let purchase: PurchaseKey
    let detail: String
}
