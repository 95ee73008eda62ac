import AppStore
import Store
import Entitlements
import Kafka
import Postgres
import Synchronization
import Worker

/// What `link-worker` does without a record: it judges purchases anew whose links became different,
/// and sends link observations of purchases whose owner has changed, until they are projected.
///
/// A connection of its own listens. One copy of the worker works at a time, under a lock of that
/// connection's session: another takes over as soon as the server misses it, and what was not
/// finished is found in the tables. It also says by which rules this copy judges.
actor LinkOutbox: Outbox {
    private let linking: Linking
    private let topic: String
    private let metrics: LinkMetrics
    private let log: Log
    private var backlog: LinkBacklog
    private var connection: PostgresConnection?
    /// Whether to look at once, because the tables were not empty or somebody else was at it.
    private var isDue = true

    /// How long to wait for a notification before the tables are looked at all the same.
    private let sweepInterval: Duration
    /// How many purchases are judged in one transaction.
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
        backlog = LinkBacklog(metrics)
        self.topic = topic
        self.sweepInterval = sweepInterval
    }

    func waitForOccasion() async throws {
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
            guard try await isLeftToDo(connection) else { return }
            guard try await lock(connection) else {
                try await Task.sleep(for: .milliseconds(50))
                isDue = true
                return
            }
            try await work(connection, deliver)
            _ = try await connection.pipeline([Self.unlock])
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
            let isJudged = try await judgeChanges(connection)
            let isSent = try await send(connection, deliver)
            isMore = isJudged || isSent
        }
    }

    /// Judges the purchases of the oldest changes of links; false where there was none.
    private func judgeChanges(_ connection: PostgresConnection) async throws -> Bool {
        let rows = try await connection.pipeline([LinkChange.oldest])
        let changes = rows.joined().map { LinkChange($0) }
        guard !changes.isEmpty else { return false }
        let answers = try await connection.pipeline([
            OwnershipLocks.afterSharedLinks, LinkChange.purchases(of: changes),
        ])
        var rest = LinkChange.scopes(answers[1])[...]
        var refused: [PurchaseScope] = []
        while !rest.isEmpty {
            refused += try await judge(rest.prefix(Self.purchasesMax))
            rest = rest.dropFirst(Self.purchasesMax)
        }
        let again = refused.isEmpty ? [] : [LinkChange.again(refused, of: changes)]
        _ = try await connection.pipeline(again + [LinkChange.applied(changes)])
        return true
    }

    /// Judges purchases in one transaction; where PostgreSQL refuses one, the others without it.
    ///
    /// - Returns: those that are refused.
    private func judge(_ scopes: ArraySlice<PurchaseScope>) async throws -> [PurchaseScope] {
        try await RecordFaults.isolating(scopes, size: size) { part in
            _ = try await linking.settle(LinkBatch(judging: part, and: []), hasRecords: false)
            return part.map { _ in PurchaseScope?.none }
        } refused: { scope, error in
            metrics.refusedPurchase()
            log.error(
                "the owner of a purchase cannot be stored, tried again later",
                [
                    "purchase.environment": .string(scope.environment.rawValue),
                    "purchase.original_transaction_id": .string(scope.originalTransactionID),
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
        let rows = try await connection.pipeline([OwnerChanges.due])
        let relinks = rows.joined().map { Relink($0) }
        guard !relinks.isEmpty else { return false }
        try await deliver(relinks.map { $0.record(for: topic) })
        _ = try await connection.pipeline([OwnerChanges.sent(relinks)])
        return true
    }

    private func readBacklog(_ connection: PostgresConnection) async throws {
        var backlog = backlog
        try await backlog.read(connection)
        self.backlog = backlog
    }

    private func isLeftToDo(_ connection: PostgresConnection) async throws -> Bool {
        let answers = try await connection.pipeline([Self.isAnythingLeft])
        return answers[0][0].bool(0)
    }

    private func lock(_ connection: PostgresConnection) async throws -> Bool {
        let answers = try await connection.pipeline([Self.tryLock])
        return answers[0][0].bool(0)
    }

    private static let isAnythingLeft = PostgresStatement(
        """
        SELECT \(LinkChange.isAnyDue) OR \(OwnerChanges.isAnyDue)
        """
    )
    private static let tryLock = PostgresStatement(
        "SELECT pg_try_advisory_lock(hashtextextended('link outbox', 0))"
    )
    private static let unlock = PostgresStatement(
        "SELECT pg_advisory_unlock(hashtextextended('link outbox', 0))"
    )
}

extension LinkOutbox {
    /// The connection that listens; opened anew, and the tables looked at, where it was lost.
    private func listening() async throws -> PostgresConnection {
        if let connection { return connection }
        let new = try await linking.client.connect()
        try await new.listen(to: OwnerWriting.channel)
        _ = try await new.pipeline([LinkingRules.record(linking.rules)])
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
