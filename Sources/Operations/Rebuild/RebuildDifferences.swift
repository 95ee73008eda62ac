import EntitleStage
import Entitlements
import LinkStage

/// Where some purchases' facts are not what was signed, and their rows not what the facts say.
struct RebuildDifferences {
    var facts: [FactFinding] = []
    var owners: [OwnerDifference] = []
    var rows: [RowDifference] = []
    /// Purchases of which PostgreSQL does not take what they should be.
    var refused: [RefusedPurchase] = []

    var count: Int { facts.count + owners.count + rows.count }

    /// How many of them `--replace` cannot put right.
    var lastingCount: Int { facts.count { !$0.isReplaceable } }

    var lines: [String] {
        facts.map(\.line) + owners.map(\.line) + rows.map(\.line) + refused.map(\.line)
    }

    var jsonLines: [String] {
        facts.map(\.json) + owners.map(\.json) + rows.map(\.json) + refused.map(\.json)
    }
}

/// A purchase that could not be compared, and why; the others are.
struct RefusedPurchase {
    let purchase: PurchaseKey
    let detail: String
}
