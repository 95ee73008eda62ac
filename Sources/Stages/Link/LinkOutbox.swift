import AppStore
import Store
import Entitlements
import Kafka
import Postgres
import Records
import Synchronization
import Worker

/// What `link-worker` does without a record: it finds the owners again of purchases whose links
/// have changed, and sends link observations of purchases whose owner has changed, until they are
/// projected.
///
/// A connection of its own listens. One copy of the worker works at a time, under a lock of that
/// connection's session: another takes over as soon as the server misses it, and what was not
/// finished is found in the tables. It also writes down the rules of this copy.
actor LinkOutbox: Outbox {
    private let linking: Linking
    private let topic: String
    private let metrics: LinkMetrics
    private let log: Log
    private var backlog: LinkBacklogMetrics
    private var connection: PostgresConnection?
    /// Whether to look at once, because the tables were not empty or another copy held the lock.
    private var isDue = true

    /// How long to wait for a notification before the tables are looked at all the same.
    private let sweepInterval: Duration
    /// Maximum purchases in one transaction.
    private static let purchasesMax = 200
    private let size: TransactionSize

    init(
        _ linking: Linking,
        topic: String,
        sweepInterval: Duration,
        metrics: LinkMetrics,
        log: Log
    ) {
        self.linking = linking
        self.metrics = metrics
        self.log = log
        size = TransactionSize(statementDeadline: linking.client.statementDeadline)
        backlog = LinkBacklogMetrics(metrics)
        self.topic = topic
        self.sweepInterval = sweepInterval
    }

    func waitForWork() async throws {
        let connection = try await listening()
        guard !isDue else {
            isDue = false
            return
        }
        _ = try await using(connection) {
            try await connection.notifications(deadline: sweepInterval)
        }
    }

    func empty(_ deliver: OutboxDelivery) async throws {
        let connection = try await listening()
        try await using(connection) {
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

    func close() async {
        await connection?.close()
        connection = nil
    }
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

    /// Applies the oldest changes of links to their purchases; false where there was none.
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

    /// - Parameter changes: those that the refused purchases were looked at for.
    private func retries(
        of refused: [PurchaseScope],
        _ changes: [LinkChange]
    ) -> [LinkChangeTable.Retry] {
        refused.map { scope in
            let former = changes.filter { $0.isOnly(of: scope) }.map(\.attempts).max() ?? 0
            return LinkChangeTable.Retry(
                scope: scope,
                attempts: former + 1,
                delay: OwnerChangeTable.resendDelay(afterSends: former + 1)
            )
        }
    }

    /// Finds the owners of purchases in one transaction; without those that PostgreSQL refuses.
    ///
    /// - Returns: those that are refused.
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
                ]
            )
            return scope
        }
        .compactMap(\.self)
    }

    /// Sends a link observation for each purchase for which one is due; false where there is none.
    ///
    /// That it is acknowledged does not mean that the purchase is projected: that ends with the
    /// projection alone.
    private func send(
        _ connection: PostgresConnection,
        _ deliver: OutboxDelivery
    ) async throws -> Bool {
        let due = Array(try await connection.run(OwnerChangeTable.take))
        guard !due.isEmpty else { return false }
        do {
            try await deliver(due.map { $0.record(for: topic) })
        } catch {
            // Also for a task that was cancelled. Where this fails they are sent after a while.
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
    /// The connection that listens; opened anew, and the tables looked at, where it was lost.
    private func listening() async throws -> PostgresConnection {
        if let connection { return connection }
        let new = try await linking.client.connect()
        try await new.listen(to: AccountLinkTable.channel)
        _ = try await new.run(LinkingRulesTable.write, linking.rules)
        connection = new
        isDue = true
        return new
    }

    /// After a fault the connection is given up, and with it whatever it had locked.
    private func using<T: Sendable>(
        _ connection: PostgresConnection,
        _ body: () async throws -> T
    ) async throws -> T {
        do {
            return try await body()
        } catch {
            await close()
            throw error
        }
    }
}

extension OwnerChangeTable.Due {
    /// The link observation: it names the purchase, and nobody waits for an answer to it.
    fileprivate func record(for topic: String) -> ProducerRecord {
        Observation(relinking: key, owner: owner).record(for: topic)
    }
}
