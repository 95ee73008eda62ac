import AppStore
import Store
import Kafka
import Postgres
import Synchronization
import Worker

/// Publishes every change of users' entitlements, and each user's newest state.
///
/// Changes are written to an outbox in the transaction of their rows, so none is published before
/// its commit and none is lost by a crash. After a crash between an acknowledgement and its mark,
/// the feed publishes again from the same change, in the same order. If a crash left requests in
/// flight, the states of the affected users are published again once those requests must have
/// ended. A change that PostgreSQL cannot read is logged and skipped, so later changes are not
/// delayed.
final class ChangeFeed: Outbox {
    private let client: PostgresClient
    private let topics: FeedTopics
    private let metrics: EntitleMetrics
    private let refusals: Refusals
    private let size: TransactionSize
    private let lease = FeedLease()
    private let signal = Signal()
    private let state: Mutex<State>

    private struct State {
        /// Maximum bytes of a record.
        var recordBytesMax: Int
        /// Users with a sent record that may have followed the records of another copy.
        var doubtful: Set<Identifier> = []
        var backlogReportedAt: ContinuousClock.Instant?
    }

    /// Maximum time between two reads of the outbox, which find the changes of other writers.
    private static let sweepInterval = Duration.milliseconds(200)
    private static let backlogInterval = Duration.seconds(5)

    init(client: PostgresClient, topics: FeedTopics, metrics: EntitleMetrics, refusals: Refusals) {
        self.client = client
        self.topics = topics
        self.metrics = metrics
        self.refusals = refusals
        size = TransactionSize(statementDeadline: client.statementDeadline)
        state = Mutex(State(recordBytesMax: FeedLimits.recordBytesMax))
    }

    /// Signals that this worker has committed changes.
    func wake() { signal.send() }

    func waitForWork() async throws { await signal.wait(for: Self.sweepInterval) }

    func empty(_ deliver: @escaping OutboxDelivery) async throws {
        try await reportBacklog()
        while try await publish(deliver) {
            try Task.checkCancellation()
            try await reportBacklog()
        }
    }

    func close() async {
        // The next holder waits until the lease expires if the release fails or a sent record is not confirmed.
        let doubtful = state.withLock { $0.doubtful }
        try? await repeatStates(of: doubtful, suspects: [])
        try? await lease.release(client)
    }
}

extension ChangeFeed {
    /// Publishes the oldest changes.
    ///
    /// Returns false if this copy has nothing left to publish.
    private func publish(_ deliver: OutboxDelivery) async throws -> Bool {
        guard let batch = try await nextBatch() else { return false }
        guard !batch.changes.isEmpty else { return true }
        // Reading may have taken longer than the lease stays fresh.
        if !lease.isFresh { try await client.withConnection { try await lease.renew($0) } }
        // The renewal took too long: the lease must be requested again.
        guard lease.isFresh else { return true }
        state.withLock { $0.doubtful.formUnion(batch.userIDs) }
        let written = batch.records(topics, bytesMax: state.withLock { $0.recordBytesMax })
        do { try await renewing { try await deliver(written.records) } } catch let undelivered as UndeliveredRecord
            where undelivered.error.isRecordFault
        {
            state.withLock { $0.recordBytesMax = FeedLimits.smaller(than: $0.recordBytesMax) }
            throw undelivered
        }
        metrics.published(written)
        try await mark(batch)
        return true
    }

    /// Reads the next batch.
    ///
    /// `nil` if nothing waits or another copy holds the lease. The batch is empty if the caller has
    /// to call again.
    private func nextBatch() async throws -> FeedBatch? {
        let doubtful = state.withLock { $0.doubtful }
        if !doubtful.isEmpty {
            try await repeatStates(of: doubtful, suspects: [])
            state.withLock { $0.doubtful.subtract(doubtful) }
        }
        let changesMax = min(OutboxTable.changesMax, size.recordsMax)
        let start = ContinuousClock.now
        do {
            let batch = try await read(changesMax: changesMax)
            if let count = batch?.changes.count {
                size.committed(count, after: .now - start)
                size.finished(largest: count, after: .now - start)
            }
            return batch
        } catch let error as PostgresError where error.isTooSlow {
            size.exceeded(changesMax)
            throw error
        } catch let error as PostgresError where error.isRecordFault {
            if changesMax == 1 { try await passOverOldest(error) } else { size.exceeded(changesMax) }
            return .empty
        }
    }

    private func read(changesMax: Int) async throws -> FeedBatch? {
        try await client.withConnection { connection in
            let held = try await lease.hold(changesMax: changesMax, connection)
            guard let suspectThrough = held else { return nil }
            var batch = FeedBatch(
                try await OutboxTable.read(on: connection, listsSubscriptions: topics.listsSubscriptions),
                suspectThrough: suspectThrough)
            if batch.changes.isEmpty { return nil }
            let empty = batch.userIDsHoldingNothing
            if !empty.isEmpty { batch.forgotten = Set(try await connection.run(ForgottenUserTable.among, empty)) }
            return batch
        }
    }

    /// Removes the oldest change from the outbox if not even this change alone can be read.
    ///
    /// The change stays in the history.
    private func passOverOldest(_ error: PostgresError) async throws {
        try await client.withConnection { connection in
            guard let oldest = try await connection.run(OutboxTable.oldest).first else { return }
            var pipeline = Pipeline()
            lease.confirm([oldest], in: &pipeline)
            _ = try await connection.run(pipeline)
            refusals.passedOver(change: oldest, error)
        }
    }

    /// Marks users whose last published state may be older than their newest, so that it is published again.
    ///
    /// - Parameter suspects: users about which a stopped copy may still have requests in flight.
    private func repeatStates(of userIDs: Set<Identifier>, suspects: Set<Identifier>) async throws {
        let users = Array(userIDs)
        _ = try await RecordFaults.isolating(users[...], size: size) { part in
            var pipeline = Pipeline()
            lease.republish(Set(part), in: &pipeline)
            pipeline.add(FeedRepetitionTable.add, unlessEmpty: Array(suspects.intersection(part)))
            _ = try await client.run(pipeline)
            return part.map { _ in }
        } refused: { _, error in
            refusals.passedOverRepetition(error)
        }
    }

    /// Keeps the lease while the body runs.
    ///
    /// If the lease expires, another copy may begin before the body has ended; `mark` detects this.
    private func renewing(_ body: () async throws -> Void) async throws {
        let renewal = Task { [client, lease] in
            while true {
                try await Task.sleep(for: FeedLease.renewalInterval)
                _ = try? await client.withConnection { try await lease.renew($0) }
            }
        }
        defer { renewal.cancel() }
        try await body()
    }

    /// Removes acknowledged changes from the outbox.
    ///
    /// Another copy may have begun if this process was suspended or lost the database. Records of
    /// this process may then follow those of that copy, so the users' states are published again.
    private func mark(_ batch: FeedBatch) async throws {
        var confirmation = Pipeline()
        lease.confirm(batch.changes.map(\.id), in: &confirmation)
        let suspects = batch.suspectUserIDs
        var pipeline = confirmation
        lease.republish(batch.userIDs, in: &pipeline)
        pipeline.add(FeedRepetitionTable.add, unlessEmpty: Array(suspects))
        do { _ = try await client.run(pipeline) } catch let error as PostgresError where error.isRecordFault {
            // Mark repetitions first: if the confirmation fails, the changes are published again.
            try await repeatStates(of: batch.userIDs, suspects: suspects)
            _ = try await client.run(confirmation)
        }
        state.withLock { $0.doubtful.subtract(batch.userIDs) }
    }

    /// Reports the backlog at intervals, even if another copy publishes it.
    ///
    /// Resets repetitions whose time is too far ahead of the database's clock.
    private func reportBacklog() async throws {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            guard state.backlogReportedAt.map({ now - $0 >= Self.backlogInterval }) ?? true else { return false }
            state.backlogReportedAt = now
            return true
        }
        guard isDue else { return }
        var pipeline = Pipeline()
        pipeline.add(FeedLeaseTable.shorten)
        pipeline.add(FeedRepetitionTable.shorten)
        pipeline.add(FeedRepetitionTable.publishDue)
        let backlog = pipeline.add(OutboxTable.backlog)
        metrics.waiting(try await client.run(pipeline)[backlog][0])
    }
}
