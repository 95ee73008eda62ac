package import Entitlements
package import Postgres
package import Store

/// Finds the owners of purchases again from their facts, while the workers run.
///
/// It holds the same locks as `link-worker`, so a difference is never a write in progress.
package struct OwnerReview: Sendable {
    private let client: PostgresClient
    private let rules: OwnershipRules

    /// Maximum attempts if each finds accounts that were not locked.
    private static let attemptsMax = 5

    /// - Parameter rules: the rules that the workers use.
    package init(client: PostgresClient, rules: OwnershipRules) {
        self.client = client
        self.rules = rules
    }

    /// Writes corrected owners, in one transaction with the caller's statements.
    ///
    /// - Parameters:
    ///   - kept: purchases that are locked but keep their owners.
    ///   - mending: writes facts that decide owners, under the locks of the purchases' ownership
    ///     and projection.
    ///   - body: receives the result of `mending` and the owners that differed. If either closure
    ///     throws, nothing is written; both may run repeatedly.
    package func transaction<T, Found>(
        about purchases: [PurchaseKey], keeping kept: Set<PurchaseScope>,
        mending: (PostgresConnection) async throws -> Found,
        _ body: (PostgresConnection, Found, [OwnerDifference]) async throws -> T
    ) async throws -> T {
        let reviewed = Set(purchases.map(\.scope)).subtracting(kept)
        var groups: Set<AppTransactionGroup> = []
        var attempt = 1
        while true {
            do {
                return try await client.transaction { [groups] connection in
                    try await lock(purchases, groups, on: connection)
                    let found = try await mending(connection)
                    let owners = try await review(reviewed, groups, on: connection)
                    return try await body(connection, found, owners)
                }
            } catch let missing as LocksMissing where attempt < Self.attemptsMax {
                groups.formUnion(missing.groups)
                attempt += 1
            }
        }
    }

    /// Writes corrected owners to the copy of the table that `PlanTables.create` has made, without locks.
    package static func plan(_ scopes: [PurchaseScope], by rules: OwnershipRules, on connection: PostgresConnection)
        async throws
    {
        var transaction = LinkTransaction(
            connection: connection, batch: LinkBatch(reviewing: scopes, and: []), rules: rules, hasRecords: false,
            isPlan: true)
        _ = try await transaction.run()
    }

    private func lock(_ purchases: [PurchaseKey], _ groups: Set<AppTransactionGroup>, on connection: PostgresConnection)
        async throws
    {
        let scopes = Array(Set(purchases.map(\.scope)))
        var pipeline = Pipeline()
        pipeline.add(Locks.sharedLinks)
        pipeline.add(Locks.accounts, Array(groups))
        pipeline.add(Locks.ownership, scopes)
        pipeline.add(Locks.projection, scopes)
        _ = try await connection.run(pipeline)
    }

    private func review(
        _ scopes: Set<PurchaseScope>, _ groups: Set<AppTransactionGroup>, on connection: PostgresConnection
    ) async throws -> [OwnerDifference] {
        guard !scopes.isEmpty else { return [] }
        var transaction = LinkTransaction(
            connection: connection, batch: LinkBatch(reviewing: scopes, and: []), rules: rules, hasRecords: false,
            locking: groups)
        return try await transaction.run().differences
    }
}

extension LinkOutcome {
    fileprivate var differences: [OwnerDifference] {
        purchases.compactMap { purchase in
            purchase.owner.flatMap { owner in
                OwnerDifference(purchase.state.key, found: purchase.state.stored, expected: owner)
            }
        }.sorted { $0.purchase < $1.purchase }
    }
}
