import AppStore
import Commands
import Derivation
import Entitlements
import JSON
import Store

/// The effects of a catalog that is not applied.
struct PlanReport: Report {
    let catalog: Catalog
    let force: CatalogInForce
    /// Whether owners are planned too, so that each purchase is projected.
    let hasOwners: Bool
    /// Number of transactions that were read.
    var transactionCount = 0
    /// Number of purchases that were projected.
    var purchaseCount = 0
    /// Number of rows that change.
    var rowCount = 0
    /// The time that reading and projecting took.
    var projecting = Duration.zero
    var instants: [StoredTime] = []
    var counts: [PlanTables.Count] = []
    /// Number of users who lose a key for any time from now on.
    var losingCount: Int64 = 0
    var balances: [PlanTables.Balances] = []
    var samples: [PlannedSample] = []
    private var sold: Set<Identifier> = []
    /// The changed purchases of each differing product.
    private var purchasesByProduct: [Identifier: Int] = [:]

    init(catalog: Catalog, force: CatalogInForce, hasOwners: Bool) {
        self.catalog = catalog
        self.force = force
        self.hasOwners = hasOwners
    }

    /// The products whose purchases are projected.
    ///
    /// `nil` for all products.
    var changed: Set<Identifier>? {
        hasOwners ? nil : force.unprojected?.union(catalog.productIDs(differingFrom: force.catalog))
    }

    /// The products whose purchases may get other entries in stacks, as their type may have changed.
    ///
    /// `nil` for all products.
    var restacked: Set<Identifier>? {
        changed?.filter { force.unprojected?.contains($0) ?? true || catalog[$0]?.type != force.catalog[$0]?.type }
    }

    mutating func add(_ sold: [CatalogProjection.Sold]) {
        transactionCount += sold.count
        for sold in sold { self.sold.formUnion(sold.productIDs) }
    }

    mutating func add(_ changes: RowChanges, of scopes: [PurchaseScope], _ sold: [CatalogProjection.Sold]) {
        purchaseCount += scopes.count
        rowCount += changes.count
        let scopes = Set(changes.purchases.map(\.scope))
        guard !scopes.isEmpty else { return }
        var products: [Identifier: Set<PurchaseScope>] = [:]
        for sold in sold where scopes.contains(sold.scope) {
            for product in sold.productIDs where changed?.contains(product) ?? true {
                products[product, default: []].insert(sold.scope)
            }
        }
        for (product, scopes) in products { purchasesByProduct[product, default: 0] += scopes.count }
    }

    /// Whether no user loses access from now on, and no balance is reduced, or the catalog is in force already.
    var isHarmless: Bool {
        losingCount == 0 && balances.allSatisfy { $0.debited == 0 } || force.version > 0 && force.catalog == catalog
    }

    /// The greatest number of users who lose a key at one of the instants.
    var lostMax: Int64 { totals.filter { $0.effect == .lost }.map(\.users).max() ?? 0 }

    private var totals: [PlanTables.Count] { counts.filter { $0.key == nil } }
}

extension PlanReport {
    /// The number of users by effect, for a key at an instant or for all keys.
    private struct Users {
        let instant: StoredTime
        var environment: String?
        var key: Identifier?
        var byEffect: [PlannedEffect: Int64] = [:]

        static let columns: [ReportColumn<Users>] =
            [.init("environment", rank: 2, \.environment), .init("entitlement_key", title: "key", \.key)] + numbers

        /// The columns without a key.
        static let numbers: [ReportColumn<Users>] =
            [.init("at", rank: 1, \.instant)]
            + PlannedEffect.allCases.map { effect in .init(effect.rawValue) { $0.byEffect[effect] ?? 0 } }
    }

    /// The users of each key at each instant, the keys with most users first.
    private var users: [Users] {
        var rows: [Users] = []
        for count in counts where count.key != nil {
            let index = rows.firstIndex {
                $0.instant == count.instant && $0.environment == count.environment && $0.key == count.key
            }
            if index == nil {
                rows.append(Users(instant: count.instant, environment: count.environment, key: count.key))
            }
            rows[index ?? rows.count - 1].byEffect[count.effect] = count.users
        }
        return rows
    }

    /// The users under any key at each instant.
    private var allUsers: [Users] {
        instants.map { instant in
            let found = totals.filter { $0.instant == instant }
            return Users(
                instant: instant, byEffect: Dictionary(found.map { ($0.effect, $0.users) }, uniquingKeysWith: +))
        }
    }

    private static let balanceColumns: [ReportColumn<PlanTables.Balances>] = [
        .init("environment", rank: 2, \.environment), .init("currency", \.currency), .init("users", \.users),
        .init("credited", \.credited), .init("debited", \.debited),
        .init("overdrawn", title: "users below zero", \.overdrawn),
    ]

    private static let productColumns: [ReportColumn<(key: Identifier, value: Int)>] = [
        .init("product_id", title: "product") { $0.key }, .init("purchases", title: "changed purchases") { $0.value },
    ]

    private var products: [(key: Identifier, value: Int)] {
        purchasesByProduct.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }

    private static func keys(of catalog: Catalog) -> Set<Identifier> {
        Set(catalog.products.values.flatMap(\.entitlementKeys))
    }

    /// Lists of names, each with its title.
    private var names: [(member: String, title: String, names: [Identifier])] {
        let (old, new) = (Self.keys(of: force.catalog), Self.keys(of: catalog))
        let known = Set(catalog.products.keys)
        return [
            ("vanishing_keys", "keys that no product grants any more", old.subtracting(new).sorted()),
            ("new_keys", "keys that no product granted before", new.subtracting(old).sorted()),
            ("unsold_products", "products without a purchase", known.subtracting(sold).sorted()),
            ("unknown_products", "products of purchases that the catalog lacks", sold.subtracting(known).sorted()),
        ]
    }
}

extension PlanReport {
    var json: JSONContent {
        let members: JSONContent = [
            "version": force.version, "transactions": transactionCount, "purchases": purchaseCount, "rows": rowCount,
            "projecting_seconds": projecting, "losing_users": losingCount,
            "users": allUsers.map { JSONContent($0, Users.numbers) },
            "keys": users.map { JSONContent($0, Users.columns) },
            "products": products.map { JSONContent($0, Self.productColumns) },
            "balances": balances.map { JSONContent($0, Self.balanceColumns) },
        ]
        return members + .object(names.map { ($0.member, $0.names.json) }) + [
            "samples": samples.map { $0.json(catalog, force) }
        ]
    }

    var parts: [TextPart] { head + samples.flatMap { [.blank] + $0.json(catalog, force).lines.map { .line($0) } } }

    /// The report without samples.
    var head: [TextPart] {
        var parts: [TextPart] = [
            .line(
                "\(Quantity.counted(purchaseCount, "purchase")) projected, against "
                    + (force.version == 0 ? "no catalog" : "catalog version \(force.version)")
                    + ": \(Quantity.counted(rowCount, "row")) would change")
        ]
        // Fewer purchases take the time of their statements alone.
        if rowCount > 0, purchaseCount >= 1_000 {
            parts.append(.line(workload(perThousand: projecting * 1_000 / purchaseCount)))
        }
        for users in allUsers where !users.byEffect.isEmpty {
            let effects = PlannedEffect.allCases.compactMap { effect in
                users.byEffect[effect].map { "\(Quantity.counted($0, "user")) \(effect.phrase)" }
            }
            let isBad = users.byEffect[.lost] != nil
            parts.append(
                .line("at \(Timestamp(users.instant).toSecond): \(effects.joined(separator: ", "))", isBad: isBad))
        }
        if losingCount > 0 {
            parts.append(.line("\(Quantity.counted(losingCount, "user")) would lose time from now on", isBad: true))
        }
        parts += [
            TextTable(users, Users.columns) { $0.byEffect[.lost] != nil }, TextTable(products, Self.productColumns),
            TextTable(balances, Self.balanceColumns) { $0.overdrawn > 0 },
        ].filter { !$0.isEmpty }.flatMap { [.blank, .table($0)] }
        let lists = names.filter { !$0.names.isEmpty }.map { "\($0.title): \(Self.list($0.names))" }
        return parts + (lists.isEmpty ? [] : [.blank]) + lists.map { .line($0) }
    }

    private func workload(perThousand: Duration) -> String {
        let all = projecting / .milliseconds(1)
        return "computing took \(Quantity.span(milliseconds: Int64(perThousand / .milliseconds(1)))) for each thousand "
            + "purchases, \(Quantity.span(milliseconds: Int64(all))) in all; entitle-worker computes the same and writes "
            + "the rows"
    }

    /// Maximum names in the text; the JSON has all.
    private static let namesShown = 20

    private static func list(_ names: [Identifier]) -> String {
        let more = names.count > namesShown ? [" and \(Quantity.grouped(names.count - namesShown)) more"] : []
        return names.prefix(namesShown).map(\.text).joined(separator: ", ") + more.joined()
    }
}

extension PlannedEffect {
    fileprivate var phrase: String {
        switch self {
        case .lost: "would lose a key"
        case .gained: "would gain a key"
        case .earlier: "would have one until an earlier end"
        case .later: "would have one until a later end"
        }
    }
}

/// A user with an effect of a plan, and the purchases behind it.
struct PlannedSample {
    struct Purchase {
        let key: PurchaseKey
        /// The contributions by the catalog in force.
        let held: [Contribution]
        let planned: [Contribution]
    }

    let sample: PlanTables.Sample
    let purchases: [Purchase]

    func json(_ catalog: Catalog, _ force: CatalogInForce) -> JSONContent {
        func rules(_ contributions: [Contribution], by catalog: Catalog) -> JSONContent {
            .array(
                contributions.filter { ($0.userID ?? sample.userID) == sample.userID }.map { contribution in
                    ["transaction_id": contribution.transactionID] + contribution.json + [
                        "grants": catalog.entitlementKeys(of: contribution.productID)
                    ]
                })
        }
        return [
            "effect": sample.effect.rawValue, "at": sample.instant, "environment": sample.environment,
            "user_id": sample.userID, "entitlement_key": sample.key, "held": sample.held.periods,
            "planned": sample.planned.periods,
            "purchases": purchases.map { purchase -> JSONContent in
                [
                    "bundle_id": purchase.key.bundleID, "original_transaction_id": purchase.key.originalTransactionID,
                    "held": rules(purchase.held, by: force.catalog), "planned": rules(purchase.planned, by: catalog),
                ]
            },
        ]
    }
}
