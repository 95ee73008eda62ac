package import Entitlements
package import Postgres
import Store

/// Finds the owners of purchases again, from the stored facts, beside the workers.
///
/// It holds the same locks as `link-worker`, so that a difference that it finds is one, and not a
/// change that is being written.
package struct OwnerReview: Sendable {
    private let client: PostgresClient
    private let rules: OwnershipRules

    /// How often purchases that concern more accounts than were locked are begun again.
    private static let attemptsMax = 5

    /// - Parameter rules: the workers' own.
    package init(client: PostgresClient, rules: OwnershipRules) {
        self.client = client
        self.rules = rules
    }

    /// Writes owners as they follow, in one transaction with what the body does about them.
    ///
    /// - Parameter body: given where owners were otherwise; where it throws nothing is written. It
    ///   may be run again from its start.
    package func transaction<T>(
        about purchases: [PurchaseKey],
        _ body: (PostgresConnection, [OwnerDifference]) async throws -> T
    ) async throws -> T {
        var groups: Set<AppTransactionGroup> = []
        var attempt = 1
        while true {
            do {
                return try await client.transaction { [groups] connection in
                    try await body(connection, try await review(purchases, groups, connection))
                }
            } catch let missing as LocksMissing where attempt < Self.attemptsMax {
                groups.formUnion(missing.groups)
                attempt += 1
            }
        }
    }

    private func review(
        _ purchases: [PurchaseKey],
        _ groups: Set<AppTransactionGroup>,
        _ connection: PostgresConnection
    ) async throws -> [OwnerDifference] {
        let scopes = Set(purchases.map(\.scope))
        var pipeline = Pipeline()
        pipeline.add(Locks.sharedLinks)
        pipeline.add(Locks.accounts, Array(groups))
        pipeline.add(Locks.ownership, Array(scopes))
        // What link-worker has recorded is never behind what entitle-worker has.
        pipeline.add(OwnershipFactTables.copyFacts, Array(scopes))
        pipeline.add(OwnershipFactTables.copyRenewals, Array(scopes))
        _ = try await connection.run(pipeline)
        var transaction = LinkTransaction(
            connection: connection,
            batch: LinkBatch(reviewing: scopes, and: []),
            rules: rules,
            hasRecords: false,
            locking: groups
        )
        return try await transaction.run().differences
    }
}

extension LinkOutcome {
    fileprivate var differences: [OwnerDifference] {
        purchases.compactMap { purchase in
            purchase.owner.flatMap { owner in
                OwnerDifference(
                    purchase.state.key,
                    found: purchase.state.stored,
                    expected: owner
                )
            }
        }
        .sorted { $0.purchase < $1.purchase }
    }
}
