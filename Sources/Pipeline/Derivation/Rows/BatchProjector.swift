import AppStore
package import Entitlements
package import Postgres
package import Store

/// Projects the purchases of a batch, and other purchases in the same stacks.
///
/// A stack is a user's non-renewing purchases of one product: each begins where the one before it
/// ends (`NonRenewingStacks`). A change to one purchase can move the periods of all later ones.
package struct BatchProjector {
    private let projection: Projection
    private let occasions: [PurchaseKey: ProjectionOccasion]
    private var purchases: [PurchaseKey: Purchase] = [:]
    /// Purchases outside the batch that share a stack with one in it.
    private var neighbours: [PurchaseKey: Purchase] = [:]
    private var stacks = NonRenewingStacks()
    package private(set) var unknownProducts = 0
    package private(set) var unknownTypes = 0

    /// The facts of one purchase, including the batch's, and its stored rows.
    ///
    /// A class avoids copies: the value is large and is read many times.
    private final class Purchase {
        let facts: PurchaseFacts
        var state: PurchaseState
        /// The purchase's entries in stacks by these facts; `state.stacked` holds the stored entries.
        let stacked: [StackedPurchase]
        /// The closed periods to write.
        ///
        /// `nil` if no further period can be closed.
        let closed: ClosedPurchase?

        var isInStack: Bool { !stacked.isEmpty || !state.stacked.isEmpty }

        init(facts: PurchaseFacts, state: PurchaseState, stacked: [StackedPurchase], closed: ClosedPurchase?) {
            self.facts = facts
            self.state = state
            self.stacked = stacked
            self.closed = closed
        }
    }

    package init(_ fold: BatchFold, _ projection: Projection) {
        self.projection = projection
        occasions = fold.occasions
        var purchases: [PurchaseKey: Purchase] = [:]
        purchases.reserveCapacity(occasions.count)
        fold.forEachPurchase { [occasions] state, index in
            let key = state.scope.purchase(state.purchases[index].bundleID)
            guard occasions[key] != nil else { return }
            purchases[key] = Self.purchase(key, state, by: projection)
        }
        self.purchases = purchases
        countUnknown()
    }

    /// Projects purchases of a snapshot, where no lock is needed, with any catalog.
    ///
    /// Each purchase is compared when it is in the batch itself, and not as a neighbour.
    package init(_ fold: BatchFold, by catalog: Catalog, inSnapshot connection: PostgresConnection) async throws {
        var fold = fold
        fold.markAll(ChangeCause(.catalog))
        self.init(fold, Projection(catalog: catalog))
        if isStacking { _ = try await readStacks(after: Pipeline(), connection) }
    }

    /// Whether a purchase of the batch is or was in a stack, so that `readStacks` must run first.
    package var isStacking: Bool { purchases.values.contains(where: \.isInStack) }

    private static func purchase(_ key: PurchaseKey, _ state: borrowing ScopeState, by projection: Projection)
        -> Purchase
    {
        let stored = state[key.bundleID]
        let facts = state.facts(of: key.bundleID)
        return Purchase(
            facts: facts, state: stored,
            stacked: projection.stackedPurchases(of: facts, key, spans: stored.ownership.spans),
            closed: state.newlyClosed(facts, of: key.bundleID))
    }

    /// The closed periods to write.
    package var closedPeriods: [ClosedPeriodTable.Row] {
        purchases.flatMap { key, purchase in purchase.closed?.rows(of: key.scope) ?? [] }
    }

    /// The changes of owners that this projection includes.
    package var ownerChanges: [OwnerChangeTable.Projected] {
        purchases.compactMap { key, purchase in purchase.state.ownerChange.map { (purchase: key, change: $0) } }
    }

    /// Counts unknown products and types among the transactions that the batch added or changed.
    private mutating func countUnknown() {
        for purchase in purchases.values {
            for index in purchase.state.changed {
                let transaction = MergedTransaction(purchase.state.transactions[index])
                if projection.catalog[transaction.productID] == nil { unknownProducts += 1 }
                if projection.catalog.type(of: transaction)?.isUnknown ?? true { unknownTypes += 1 }
            }
        }
    }

    /// The differences between the stored rows and the projected ones.
    package func changes() -> RowChanges {
        var changes = RowChanges()
        for (key, purchase) in purchases {
            guard let occasion = occasions[key] else { continue }
            let projected = project(purchase, key)
            changes.compare(key, rows: purchase.state.rows, with: projected.rows, occasion)
            changes.compare(key, credits: purchase.state.credits, with: projected.credits)
            changes.compare(stacked: purchase.state.stacked, with: purchase.stacked)
        }
        let moved = movedHolders()
        for (key, neighbour) in neighbours { compare(key, neighbour, moved: moved, to: &changes) }
        return changes
    }

    /// The contribution of each transaction of a purchase of the batch.
    package func contributions(of key: PurchaseKey) -> [Contribution] {
        guard let purchase = purchases[key] else { return [] }
        return projection.contributions(of: purchase.facts, key, ownership: purchase.state.ownership, stacks: stacks)
    }

    private func project(_ purchase: Purchase, _ key: PurchaseKey) -> ProjectedPurchase {
        projection.project(purchase.facts, of: key, ownership: purchase.state.ownership, stacks: stacks)
    }

    /// Compares a neighbour's rows for the holders whose stacks have moved; other holders are not locked.
    private func compare(
        _ key: PurchaseKey, _ neighbour: Purchase, moved: [StackedPurchaseTable.Holder: ProjectionOccasion],
        to changes: inout RowChanges
    ) {
        let projected = project(neighbour, key).rows
        let users = Set(neighbour.stacked.map(\.key.userID))
        for user in users.sorted() {
            let holder = StackedPurchaseTable.Holder(key, userID: user)
            guard let occasion = moved[holder] else { continue }
            changes.compare(
                key, rows: neighbour.state.rows.filter { $0.userID == user },
                with: projected.filter { $0.userID == user }, occasion)
        }
    }

    /// The holders of stacks in which a purchase of the batch was added, removed or changed.
    ///
    /// A new catalog may change durations, so it includes the holders of all stacks of the purchase.
    private func movedHolders() -> [StackedPurchaseTable.Holder: ProjectionOccasion] {
        var holders: [StackedPurchaseTable.Holder: ProjectionOccasion] = [:]
        for (key, purchase) in purchases where purchase.isInStack {
            let stored = Set(purchase.state.stacked)
            let moved =
                occasions[key]?.cause.kind == .catalog
                ? stored.union(purchase.stacked) : stored.symmetricDifference(purchase.stacked)
            for entry in moved { holders[StackedPurchaseTable.Holder(entry.key)] = occasions[key] }
        }
        return holders
    }
}

extension BatchProjector {
    /// Locks all users of the batch and reads the other purchases in their stacks.
    package mutating func readStacks(_ connection: PostgresConnection) async throws {
        var pipeline = Pipeline()
        pipeline.add(Locks.users, unlessEmpty: Array(Set(purchases.values.flatMap(\.state.users))))
        try await readNeighbours(Set(readStacks(after: pipeline, connection).map(\.purchaseKey)), connection)
    }

    /// - Returns: the entries of other purchases.
    private mutating func readStacks(after pipeline: Pipeline, _ connection: PostgresConnection) async throws
        -> [StackedPurchase]
    {
        var pipeline = pipeline
        let stored = pipeline.add(StackedPurchaseTable.ofHolders, holders)
        let others = try await connection.run(pipeline)[stored].filter { purchases[$0.purchaseKey] == nil }
        stacks = NonRenewingStacks(others + purchases.values.flatMap(\.stacked), catalog: projection.catalog)
        return others
    }

    /// The holders of the stacks in which purchases of the batch are or were.
    private var holders: [StackedPurchaseTable.Holder] {
        Array(
            Set(
                purchases.values.flatMap { purchase in
                    (purchase.stacked + purchase.state.stacked).map { StackedPurchaseTable.Holder($0.key) }
                }))
    }

    /// Reads the neighbours, and rereads the rows of the batch's own purchases in a stack.
    ///
    /// Another transaction could move these rows until the users were locked.
    private mutating func readNeighbours(_ keys: Set<PurchaseKey>, _ connection: PostgresConnection) async throws {
        let own = purchases.filter(\.value.isInStack)
        let scopes = Array(Set((keys.map(\.scope)) + own.keys.map(\.scope)))
        for state in try await BatchFold(reading: scopes, on: connection).states {
            for (bundleID, stored) in state.purchases {
                let key = state.scope.purchase(bundleID)
                if own[key] != nil {
                    purchases[key]?.state.rows = stored.rows
                } else if keys.contains(key) {
                    neighbours[key] = Self.purchase(key, state, by: projection)
                }
            }
        }
    }
}

extension StackedPurchaseTable.Holder {
    fileprivate init(_ purchase: PurchaseKey, userID: Identifier) {
        self.init(environment: purchase.environment, bundleID: purchase.bundleID, userID: userID)
    }
}
