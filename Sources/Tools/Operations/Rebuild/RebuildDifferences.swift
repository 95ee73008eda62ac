import Derivation
import Entitlements
import JSON
import Store

/// The differences of purchases: between facts and signed contents, and between rows and facts.
struct RebuildDifferences {
    var facts: [FactFinding] = []
    var owners: [OwnerDifference] = []
    var rows: [RowDifference] = []
    /// Differences that are not replaced, because a transaction of the purchase is lost.
    var kept: [RowDifference] = []
    var keptOwners: [OwnerDifference] = []
    /// Purchases whose correct state PostgreSQL refuses.
    var refused: [RefusedPurchase] = []

    var count: Int { facts.count + owners.count + rows.count + keptCount }

    private var keptCount: Int { kept.count + keptOwners.count }

    /// Number of differences that `--replace` cannot correct.
    var lastingCount: Int { facts.count { !$0.isReplaceable } + keptCount }

    /// The purchases of lost transactions that cannot be restored here.
    var incomplete: Set<PurchaseScope> { Set(facts.compactMap(\.incomplete)) }

    /// The differences without those that `--replace` adds to rows of versions before 1.4.0, which stored no status.
    var withoutAdditions: RebuildDifferences {
        var others = self
        others.rows.removeAll(where: \.onlyAddsStatus)
        others.facts.removeAll { $0.fault == .differs(columns: "price_increase_status") }
        return others
    }

    var lines: [String] {
        facts.map(\.line) + owners.map(\.line) + rows.map(\.line)
            + (keptOwners.map(\.line) + kept.map(\.line)).map {
                "\($0); kept, as a transaction of the purchase has no row"
            } + refused.map(\.line)
    }

    var jsonLines: [JSONContent] {
        facts.map(\.json) + owners.map { $0.json(isKept: false) } + keptOwners.map { $0.json(isKept: true) }
            + rows.map { $0.json(isKept: false) } + kept.map { $0.json(isKept: true) } + refused.map(\.json)
    }
}

/// A purchase that could not be compared, and the reason; the other purchases are compared.
struct RefusedPurchase {
    let purchase: PurchaseKey
    let detail: String
}
