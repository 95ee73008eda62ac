import AppStore
import Entitlements
import Postgres
import Store

/// Projects the purchases that a batch touches, and those that move with them because non-renewing
/// purchases extend each other.
struct BatchProjector {
    private let projection: Projection
    private let touched: [PurchaseKey: ProjectionOccasion]
    private var purchases: [PurchaseKey: Subject] = [:]
    private var neighbours: [PurchaseKey: Subject] = [:]
    private var stacks = NonRenewingStacks()
    private(set) var unknownProducts = 0
    private(set) var unknownTypes = 0

    /// One purchase: its present facts, and its stored rows.
    ///
    /// Large and read many times, so a class avoids copies.
    private final class Subject {
        let facts: PurchaseFacts
        var state: PurchaseState
        let stacked: [StackedPurchase]
        /// The closed periods to write, if more of the purchase can be closed than is.
        let closed: ClosedPurchase?

        init(
            facts: PurchaseFacts,
            state: PurchaseState,
            stacked: [StackedPurchase],
            closed: ClosedPurchase?
        ) {
            self.facts = facts
            self.state = state
            self.stacked = stacked
            self.closed = closed
        }
    }

    init(_ fold: BatchFold, _ projection: Projection) {
        self.projection = projection
        touched = fold.touched
        var touchedPurchases: [PurchaseKey: Subject] = [:]
        touchedPurchases.reserveCapacity(touched.count)
        fold.forEachPurchase { [touched] state, index in
            let key = state.scope.purchase(state.purchases[index].bundleID)
            guard touched[key] != nil else { return }
            touchedPurchases[key] = Self.subject(key, state, projection)
        }
        purchases = touchedPurchases
        count()
    }

    /// Whether it has a purchase that others of its user may extend.
    var isStacking: Bool {
        purchases.values.contains { !$0.stacked.isEmpty || !$0.state.stacked.isEmpty }
    }

    private static func subject(
        _ key: PurchaseKey,
        _ state: borrowing ScopeState,
        _ projection: Projection
    ) -> Subject {
        let purchase = state[key.bundleID]
        let facts = state.facts(of: key.bundleID)
        return Subject(
            facts: facts,
            state: purchase,
            stacked: projection.stackedPurchases(
                of: facts,
                key,
                spans: purchase.ownership.spans
            ),
            closed: state.newlyClosed(facts, of: key.bundleID)
        )
    }

    /// The closed periods to write.
    var closedPeriods: [ClosedPeriodTable.Row] {
        purchases.flatMap { key, subject in subject.closed?.rows(of: key.scope) ?? [] }
    }

    /// The changes of owners that are projected here.
    var ownerChanges: [OwnerChangeTable.Projected] {
        purchases.compactMap { key, subject in
            subject.state.ownerChange.map {
                (purchase: key, change: $0)
            }
        }
    }

    /// Counts what the batch brought, not what was known before.
    private mutating func count() {
        for subject in purchases.values {
            for index in subject.state.changed {
                let transaction = MergedTransaction(subject.state.transactions[index])
                if projection.catalog[transaction.productID] == nil {
                    unknownProducts += 1
                }
                if projection.catalog.type(of: transaction)?.isUnknown ?? true {
                    unknownTypes += 1
                }
            }
        }
    }

    func changes() -> RowChanges {
        var changes = RowChanges()
        for (key, subject) in purchases {
            guard let occasion = touched[key] else { continue }
            let projected = project(subject, key)
            changes.compare(key, rows: subject.state.rows, with: projected.rows, occasion)
            changes.compare(key, credits: subject.state.credits, with: projected.credits)
            changes.compare(stacked: subject.state.stacked, with: subject.stacked)
        }
        let occasions = movedHolders()
        for (key, subject) in neighbours {
            compare(key, subject, occasions: occasions, to: &changes)
        }
        return changes
    }

    /// The contribution of each transaction of the touched purchases.
    func contributions() -> [PurchaseKey: [Contribution]] {
        Dictionary(
            uniqueKeysWithValues: purchases.map { key, subject in
                let contributions = projection.contributions(
                    of: subject.facts,
                    key,
                    ownership: subject.state.ownership,
                    stacks: stacks
                )
                return (key, contributions)
            }
        )
    }

    private func project(_ subject: Subject, _ key: PurchaseKey) -> ProjectedPurchase {
        projection.project(
            subject.facts,
            of: key,
            ownership: subject.state.ownership,
            stacks: stacks
        )
    }

    /// Compares only the rows of holders whose stacks have moved: these are locked, the others are
    /// not.
    private func compare(
        _ key: PurchaseKey,
        _ subject: Subject,
        occasions: [StackedPurchaseTable.Holder: ProjectionOccasion],
        to changes: inout RowChanges
    ) {
        let projected = project(subject, key).rows
        let users = Set(subject.stacked.map(\.key.userID))
        for user in users.sorted() {
            let holder = StackedPurchaseTable.Holder(key, userID: user)
            guard let occasion = occasions[holder] else { continue }
            changes.compare(
                key,
                rows: subject.state.rows.filter { $0.userID == user },
                with: projected.filter { $0.userID == user },
                occasion
            )
        }
    }

    /// The holders of stacks in which a touched purchase was added, removed or changed, or lasts
    /// differently by another catalog.
    private func movedHolders() -> [StackedPurchaseTable.Holder: ProjectionOccasion] {
        var occasions: [StackedPurchaseTable.Holder: ProjectionOccasion] = [:]
        for (key, subject) in purchases
        where !subject.stacked.isEmpty || !subject.state.stacked.isEmpty {
            let known = Set(subject.state.stacked)
            let moved =
                touched[key]?.cause.kind == .catalog
                ? known.union(subject.stacked) : known.symmetricDifference(subject.stacked)
            for purchase in moved {
                occasions[StackedPurchaseTable.Holder(purchase.key)] = touched[key]
            }
        }
        return occasions
    }
}

extension BatchProjector {
    /// Locks all users of the batch, and reads what they hold beside the batch's purchases.
    mutating func readStacks(_ connection: PostgresConnection) async throws {
        var users: Set<Identifier> = []
        var holders: Set<StackedPurchaseTable.Holder> = []
        for subject in purchases.values {
            users.formUnion(subject.state.users)
            for purchase in subject.stacked + subject.state.stacked {
                holders.insert(StackedPurchaseTable.Holder(purchase.key))
            }
        }
        var pipeline = Pipeline()
        pipeline.add(Locks.users, unlessEmpty: Array(users))
        let stored = pipeline.add(StackedPurchaseTable.ofHolders, Array(holders))
        let own = Set(purchases.keys)
        let others = try await connection.run(pipeline)[stored]
            .filter { !own.contains($0.purchaseKey) }
        stacks = NonRenewingStacks(
            others + purchases.values.flatMap(\.stacked),
            catalog: projection.catalog
        )
        try await readNeighbours(Set(others.map(\.purchaseKey)), connection)
    }

    /// Also reads the rows of the batch's own purchases in a stack again: until the users were
    /// locked, another transaction might move them.
    private mutating func readNeighbours(
        _ keys: Set<PurchaseKey>,
        _ connection: PostgresConnection
    ) async throws {
        let own = purchases.filter { !$0.value.stacked.isEmpty || !$0.value.state.stacked.isEmpty }
        let scopes = Array(Set((keys.map(\.scope)) + own.keys.map(\.scope)))
        var pipeline = Pipeline()
        let reading = FactReading(scopes, in: &pipeline)
        var fold = BatchFold(scopes: scopes)
        fold.add(reading, try await connection.run(pipeline))
        for state in fold.states {
            for purchase in state.purchases {
                let key = state.scope.purchase(purchase.bundleID)
                if own[key] != nil {
                    purchases[key]?.state.rows = purchase.state.rows
                } else if keys.contains(key) {
                    neighbours[key] = Self.subject(key, state, projection)
                }
            }
        }
    }
}

extension StackedPurchaseTable.Holder {
    fileprivate init(_ purchase: PurchaseKey, userID: Identifier) {
        self.init(
            environment: purchase.environment,
            bundleID: purchase.bundleID,
            userID: userID
        )
    }
}
