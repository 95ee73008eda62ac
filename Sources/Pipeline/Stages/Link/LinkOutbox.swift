import AppStore
import Derivation
import Entitlements
import Kafka
import Postgres
import Records
import Store
import Synchronization
import Telemetry
import Worker

/// The work of `link-worker` that no record caused.
///
/// It finds owners again after links have changed, and sends link observations of purchases with a
/// changed owner until they are projected.
///
/// It listens on a separate connection. One copy of the worker does this work at a time, under a
/// session lock of that connection: another takes over as soon as the server drops the connection,
/// and finds unfinished work in the tables. It also stores the rules of this copy.
actor LinkOutbox: Outbox {
    private let linking: Linking
    private let topic: String
    private let metrics: LinkMetrics
    private let log: Log
    private var backlog: LinkBacklogMetrics
    private let standing: StandingConnection
    /// Whether to read the tables at once, because they were not empty or another copy held the lock.
    private var isDue = true

    /// Longest wait for a notification; then the tables are read without one.
    private let sweepInterval: Duration
    /// Maximum purchases in one transaction.
    private static let purchasesMax = 200
    private let size: TransactionSize

    init(_ linking: Linking, topic: String, sweepInterval: Duration, metrics: LinkMetrics, log: Log) {
        self.linking = linking
        standing = StandingConnection(linking.client)
        self.metrics = metrics
        self.log = log
        size = TransactionSize(statementDeadline: linking.client.statementDeadline)
        backlog = LinkBacklogMetrics(metrics)
        self.topic = topic
        self.sweepInterval = sweepInterval
    }

    func waitForWork() async throws {
        try await using { connection in
            guard !isDue else {
                isDue = false
                return
            }
            _ = try await connection.notifications(deadline: sweepInterval)
        }
    }

    func empty(_ deliver: @escaping OutboxDelivery) async throws {
        try await using { connection in
            try await readBacklog(connection)
            guard try await connection.run(LinkChangeTable.isAnythingDue)[0] else { return }
            guard try await connection.run(SessionLock.linkOutbox.acquire)[0] else {
                try await Task.sleep(for: .milliseconds(50))
                isDue = true
                return
            }
            try await work(connection, deliver)
            _ = try await connection.run(SessionLock.linkOutbox.release)
        }
    }

    func close() async { await standing.close() }
}

extension LinkOutbox {
    private func work(_ connection: PostgresConnection, _ deliver: OutboxDelivery) async throws {
        var isMore = true
        while isMore {
            try Task.checkCancellation()
            let isApplied = try await applyChanges(connection)
            let isSent = try await send(connection, deliver)
            isMore = isApplied || isSent
        }
    }

    /// Applies the oldest changes of links to their purchases.
    ///
    /// Returns false if there was none.
    private func applyChanges(_ connection: PostgresConnection) async throws -> Bool {
        let changes = Array(try await connection.run(LinkChangeTable.oldest))
        guard !changes.isEmpty else { return false }
        var pipeline = Pipeline()
        pipeline.add(Locks.afterSharedLinks)
        let concerned = pipeline.add(LinkChangeTable.purchases, changes)
        var rest = Array(try await connection.run(pipeline)[concerned])[...]
        var refused: [PurchaseScope] = []
        while !rest.isEmpty {
            refused += try await review(rest.prefix(Self.purchasesMax))
            rest = rest.dropFirst(Self.purchasesMax)
        }
        var applied = Pipeline()
        applied.add(LinkChangeTable.retry, unlessEmpty: retries(of: refused, changes))
        applied.add(LinkChangeTable.remove, changes.map(\.id))
        _ = try await connection.run(applied)
        return true
    }

    /// - Parameter changes: the changes of links for which the refused purchases were reviewed.
    private func retries(of refused: [PurchaseScope], _ changes: [LinkChange]) -> [LinkChangeTable.Retry] {
        refused.map { scope in
            let former = changes.filter { $0.isOnly(of: scope) }.map(\.attempts).max() ?? 0
            return (scope: scope, attempts: former + 1, delay: OwnerChangeTable.resendDelay(afterSends: former + 1))
        }
    }

    /// Finds the owners of purchases in one transaction, except for purchases that PostgreSQL rejects.
    ///
    /// - Returns: the rejected purchases.
    private func review(_ scopes: ArraySlice<PurchaseScope>) async throws -> [PurchaseScope] {
        try await RecordFaults.isolating(scopes, size: size) { part in
            _ = try await linking.settle(LinkBatch(reviewing: part, and: []), hasRecords: false)
            return part.map { _ in PurchaseScope?.none }
        } refused: { scope, error in
            metrics.refusedPurchase()
            log.error(
                "owner rejected by the database, retrying later",
                [
                    "purchase.environment": .string(scope.environment.rawValue),
                    "purchase.original_transaction_id": .string(scope.originalTransactionID.text),
                    "error": .string(error.recordFaultDetail),
                ])
            return scope
        }.compactMap(\.self)
    }

    /// Sends a link observation for each purchase that is due.
    ///
    /// Returns false if none is due.
    ///
    /// An acknowledgement does not mean that the purchase is projected: only the projection removes
    /// the mark.
    private func send(_ connection: PostgresConnection, _ deliver: OutboxDelivery) async throws -> Bool {
        let due = Array(try await connection.run(OwnerChangeTable.take))
        guard !due.isEmpty else { return false }
        do { try await deliver(due.map { $0.record(for: topic) }) } catch {
            // A separate task runs even if this one is cancelled. If it fails, the observations are sent later.
            await Task { _ = try? await connection.run(OwnerChangeTable.putBack, due) }.value
            throw error
        }
        return true
    }

    private func readBacklog(_ connection: PostgresConnection) async throws {
        var backlog = backlog
        try await backlog.update(connection)
        self.backlog = backlog
    }
}

extension LinkOutbox {
    /// Runs `body` on the listening connection; after a lost connection the tables are read again.
    private func using(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await standing.use { new in
            try await new.listen(to: AccountLinkTable.channel)
            _ = try await new.run(LinkingRulesTable.write, linking.rules)
            isDue = true
        } _: {
            try await body($0)
        }
    }
}

extension OwnerChangeTable.Due {
    /// The link observation of the purchase, under the key of its other records; no request waits for it.
    fileprivate func record(for topic: String) -> ProducerRecord {
        var record = Observation(relinking: key, owner: owner).record(for: topic)
        if let account { record.key = key.environment.partitionKey(ofAccount: account) }
        return record
    }
}
