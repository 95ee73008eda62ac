import AppStore
import Commands
import Derivation
import Entitlements
import JSON
import Reports
import Store

/// The effects of a catalog that is not applied.
struct PlanReport: Report {
    let catalog: Catalog
    let force: CatalogInForce
    /// The instant from which users are counted, that of the snapshot.
    let now: StoredTime
    /// The user who is forgotten.
    var forgotten: PlannedForgetting?
    /// Number of transactions that were read.
    var transactionCount = 0
    /// Number of purchases that were projected.
    var purchaseCount = 0
    /// Number of rows that change.
    var rowCount = 0
    /// Number of rows of entitlements among them.
    var entitlementCount: Int64 = 0
    /// Equal in plans that do the same to the same users.
    var usersDigest = "0"
    /// Whether owners are planned too.
    var hasOwners = false
    var links = PlannedLinks()
    /// The number and hash under which the plan is stored.
    var stored: PlanTable.Added?
    /// The time that reading and projecting took.
    var projecting = Duration.zero
    var instants: [StoredTime] = []
    /// The users with each effect: all, by key, by product and by rule.
    var users: [PlanTables.Users] = []
    /// Number of users who lose a key for any time from now on.
    var losingCount: Int64 = 0
    var balances: [PlanTables.Balances] = []
    var samples: [PlannedSample] = []
    /// The only user in the samples.
    var sampled: SampledUser?
    private var sold: Set<Identifier> = []
    /// The changed purchases of each product.
    private var purchasesByProduct: [Identifier: Int] = [:]

    init(catalog: Catalog, force: CatalogInForce, now: StoredTime) {
        self.catalog = catalog
        self.force = force
        self.now = now
    }

    /// The products whose purchases are projected even if their owners stay.
    ///
    /// `nil` for all products.
    var changed: Set<Identifier>? { force.unprojected?.union(catalog.productIDs(differingFrom: force.catalog)) }

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

    mutating func add(_ changes: RowChanges, _ sold: [CatalogProjection.Sold]) {
        rowCount += changes.count
        let scopes = Set(changes.purchases.map(\.scope))
        guard !scopes.isEmpty else { return }
        let products = Dictionary(grouping: sold.filter { scopes.contains($0.scope) }, by: \.scope).values.map {
            Set($0.flatMap(\.productIDs))
        }
        for products in products {
            let differing = changed.map { products.intersection($0) } ?? []
            for product in differing.isEmpty ? products : differing { purchasesByProduct[product, default: 0] += 1 }
        }
    }

    /// The changed rows, each with the contribution behind it: one that holds now, else the newest.
    func rows(of changes: RowChanges, by projector: BatchProjector) -> [PlanTables.Row] {
        changes.changed.map { row in
            let behind = projector.contributions(of: row.purchase).filter { contribution in
                (contribution.userID ?? row.change.userID) == row.change.userID
                    && [catalog, force.catalog].contains {
                        $0.entitlementKeys(of: contribution.productID).contains(row.change.key)
                    }
            }
            func rank(_ contribution: Contribution) -> (Int, Int64, Identifier) {
                guard let period = contribution.period else { return (0, 0, contribution.transactionID) }
                let holds = period.contains(Timestamp(now))
                return (holds ? 2 : 1, period.start.milliseconds, contribution.transactionID)
            }
            return (row, behind.max { rank($0) < rank($1) })
        }
    }

    /// Whether no user loses access from now on, and no balance is reduced, or the catalog is in force already.
    var isHarmless: Bool { losingCount == 0 && balances.allSatisfy { $0.debited == 0 } || isInForce }

    /// An element that meets a limit, as JSON.
    ///
    /// Elements that are left out meet every limit.
    func element(meeting limit: PlanLimit) -> String? {
        let (member, _) = Self.limited[limit.list]
        guard case .object(let members) = json else { return nil }
        let elements: [JSONContent]
        switch members.first(where: { $0.name == member })?.value {
        case .array(let list): elements = list
        default: elements = [.object(members.filter { Self.limited[limit.list].names.contains($0.name) })]
        }
        if let met = elements.first(where: { limit.isMet(by: $0) }) {
            return String(decoding: met.bytes, as: UTF8.self)
        }
        let isCut = leftOutCount > 0 && Users.lists.contains { $0.member == member }
        return isCut ? "\(leftOutCount) elements are left out" : nil
    }

    /// The lists of the JSON, each with the names that a limit may use; the first is the JSON itself.
    static let limited: [(member: String?, names: [String])] =
        [(nil, ["transactions", "purchases", "rows", "losing_users"]), ("users", Users.numbers.compactMap(\.name))]
        + Users.lists.map { ($0.member, $0.columns.compactMap(\.name)) } + [
            ("products", PlanAnswer.products.compactMap(\.name)),
            ("balances", PlanTables.Balances.columns.compactMap(\.name)),
        ]
}

extension PlanReport {
    private typealias Users = PlanTables.Users

    /// The users under any key at each instant.
    private var allUsers: [Users] {
        instants.map { instant in users.first { $0.isAny && $0.instant == instant } ?? PlanTables.none(at: instant) }
    }

    /// Number of elements of the lists beyond those that are counted.
    private var leftOutCount: Int64 { users.first.map { $0.total - Int64(users.count) } ?? 0 }

    private var products: [PlanAnswer.Product] { purchasesByProduct.sorted { ($1.value, $0.key) < ($0.value, $1.key) } }

    private static func keys(of catalog: Catalog) -> Set<Identifier> {
        Set(catalog.products.values.flatMap(\.entitlementKeys))
    }

    /// The names of each list of `PlanAnswer.names`.
    private var names: [(list: (member: String, title: String), names: [Identifier])] {
        let (old, new) = (Self.keys(of: force.catalog), Self.keys(of: catalog))
        let known = Set(catalog.products.keys)
        let names = [old.subtracting(new), new.subtracting(old), known.subtracting(sold), sold.subtracting(known)]
        return Array(zip(PlanAnswer.names, names.map { $0.sorted() }))
    }
}

extension PlanReport {
    var json: JSONContent {
        ["plan": stored?.number, "sha256": stored?.sha256] + result + [
            "forgotten": forgotten, "user": sampled, "samples": samples.map { $0.json(catalog, force) },
        ]
    }

    /// The members that are stored, without any user's ID.
    var result: JSONContent {
        let members: JSONContent = [
            "planned_at": now, "version": force.version, "transactions": transactionCount, "purchases": purchaseCount,
            "rows": rowCount, "entitlements": entitlementCount, "users_digest": usersDigest,
            "projecting_seconds": projecting, "losing_users": losingCount, "left_out": leftOutCount,
            "users": allUsers.map { JSONContent($0, Users.numbers) },
            "products": products.map { JSONContent($0, PlanAnswer.products) },
            "balances": balances.map { JSONContent($0, PlanTables.Balances.columns) },
        ]
        let lists = Users.lists.map { list in
            (list.member, users.filter(list.has).map { JSONContent($0, list.columns) }.json)
        }
        return members + .object(lists) + .object(names.map { ($0.list.member, $0.names.json) })
    }

    var parts: [TextPart] {
        head + samples.flatMap { [.blank] + $0.json(catalog, force).lines.map { .line($0) } }
            + (sampled?.phrase.map { [.blank, .line($0)] } ?? [])
            + (stored.map { [.blank, .line("plan \($0.number), sha256 \($0.sha256)")] } ?? [])
    }

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
        if let forgotten { parts.append(.line(forgotten.phrase)) }
        for users in allUsers {
            let effects = [
                (users.lost, "would lose a key"), (users.gained, "would gain a key"),
                (users.earlier, "would have one until an earlier end"),
                (users.later, "would have one until a later end"),
            ].filter { $0.0 > 0 }.map { "\(Quantity.counted($0, "user")) \($1)" }
            guard !effects.isEmpty else { continue }
            parts.append(
                .line(
                    "at \(Timestamp(users.instant).toSecond): \(effects.joined(separator: ", "))", isBad: users.lost > 0
                ))
        }
        if losingCount > 0 {
            parts.append(.line("\(Quantity.counted(losingCount, "user")) would lose time from now on", isBad: true))
        }
        for list in Users.lists { parts += Self.table(users.filter(list.has), list.columns) { $0.lost > 0 } }
        if leftOutCount > 0 {
            parts.append(.line("\(Quantity.grouped(leftOutCount)) more with fewer users are left out", isBad: true))
        }
        parts += Self.table(products, PlanAnswer.products) { _ in false }
        parts += Self.table(balances, PlanTables.Balances.columns) { $0.overdrawn > 0 }
        let lists = names.filter { !$0.names.isEmpty }.map {
            "\($0.list.title): \(PlanAnswer.list($0.names.map(\.text)))"
        }
        return parts + (lists.isEmpty ? [] : [.blank]) + lists.map { .line($0) }
    }

    private func workload(perThousand: Duration) -> String {
        let all = projecting / .milliseconds(1)
        return "computing took \(Quantity.span(milliseconds: Int64(perThousand / .milliseconds(1)))) for each thousand "
            + "purchases, \(Quantity.span(milliseconds: Int64(all))) in all; entitle-worker computes the same and writes "
            + "the rows"
    }

    /// Maximum rows of a table in the text; the JSON has all.
    private static let rowsShown = 100

    private static func table<Row>(_ rows: [Row], _ columns: [ReportColumn<Row>], isBad: (Row) -> Bool) -> [TextPart] {
        guard !rows.isEmpty else { return [] }
        let table = TextTable(Array(rows.prefix(rowsShown)), columns, isBad: isBad)
        let more = rows.count - rowsShown
        return [.blank, .table(table)] + (more > 0 ? [.line("and \(Quantity.grouped(more)) more: --json")] : [])
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
