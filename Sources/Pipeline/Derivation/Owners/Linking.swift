package import Entitlements
package import Postgres
import Store

/// An error for a transaction that needs more locks but cannot acquire them out of order.
///
/// The transaction runs again and acquires them together with the others.
struct LocksMissing: Error { let groups: Set<AppTransactionGroup> }

/// Finds owners in a transaction that is repeated if it needs more locks.
package struct Linking: Sendable {
    package let client: PostgresClient
    package let rules: OwnershipRules

    package init(client: PostgresClient, rules: OwnershipRules) {
        self.client = client
        self.rules = rules
    }

    /// Maximum attempts at a batch if each finds accounts that were not locked.
    private static let attemptsMax = 5

    /// - Parameter hasRecords: whether records of the purchases are forwarded, by which
    ///   `entitle-worker` projects them.
    package func settle(_ batch: LinkBatch, hasRecords: Bool) async throws -> LinkOutcome {
        guard !batch.isEmpty else { return LinkOutcome() }
        var groups: Set<AppTransactionGroup> = []
        for _ in 1..<Self.attemptsMax {
            do { return try await settle(batch, hasRecords, locking: groups) } catch let missing as LocksMissing {
                groups.formUnion(missing.groups)
            }
        }
        return try await settle(batch, hasRecords, locking: groups)
    }

    private func settle(_ batch: LinkBatch, _ hasRecords: Bool, locking groups: Set<AppTransactionGroup>) async throws
        -> LinkOutcome
    {
        try await client.inserting { connection, newRows in
            var transaction = LinkTransaction(
                connection: connection, batch: batch, rules: rules, hasRecords: hasRecords, newRows: newRows,
                locking: groups)
            return try await transaction.run()
        }
    }
}
