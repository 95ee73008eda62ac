import AppStore
import Store
import Kafka
import Postgres
import Synchronization
import Worker

/// Publishes what users may use: every change, and each user's newest state.
///
/// Changes wait in an outbox that the transaction of their rows has filled, so none is published
/// before its commit and none is lost by a crash; a crash between an acknowledgement and its mark
/// publishes again, from the same change on and in the same order. Where a crash has left something
/// under way, the states of the users concerned are published once more when it must be over. A
/// change that PostgreSQL refuses to read is named, left out and holds nothing up.
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
        /// How large a record may be.
        var recordBytesMax: Int
        /// Of whom something was handed over that is not known to lie before what others wrote.
        var doubtful: Set<Identifier> = []
        var backlogReportedAt: ContinuousClock.Instant?
    }

    /// How long changes of other writers wait until they are looked for.
    private static let sweepInterval = Duration.milliseconds(200)
    private static let backlogInterval = Duration.seconds(5)

    init(
        client: PostgresClient,
        topics: FeedTopics,
        metrics: EntitleMetrics,
        refusals: Refusals
    ) {
        self.client = client
        self.topics = topics
        self.metrics = metrics
        self.refusals = refusals
        size = TransactionSize(statementDeadline: client.statementDeadline)
        state = Mutex(State(recordBytesMax: FeedLimits.recordBytesMax))
    }

    /// Signals that this worker has committed changes.
    func wake() {
        signal.send()
    }

    func waitForWork() async throws {
        await signal.wait(for: Self.sweepInterval)
    }

    func empty(_ deliver: OutboxDelivery) async throws {
        try await reportBacklog()
        while try await publish(deliver) {
            try Task.checkCancellation()
            try await reportBacklog()
        }
    }

    func close() async {
        // Where this fails, or something that was handed over is not confirmed, the next holder
        // waits for the lease to end.
        let doubtful = state.withLock { $0.doubtful }
        try? await repeatStates(of: doubtful, suspects: [])
        try? await lease.release(client)
    }
}

extension ChangeFeed {
    /// Publishes the oldest changes; false where none is left for this copy.
    private func publish(_ deliver: OutboxDelivery) async throws -> Bool {
        guard let batch = try await nextBatch() else { return false }
        guard !batch.changes.isEmpty else { return true }
        // Too late: the right is asked for anew.
        guard lease.isFresh else { return true }
        state.withLock { $0.doubtful.formUnion(batch.userIDs) }
        let written = batch.records(topics, bytesMax: state.withLock { $0.recordBytesMax })
        do {
            try await renewing { try await deliver(written.records) }
        } catch let undelivered as UndeliveredRecord where undelivered.error.isRecordFault {
            state.withLock { $0.recordBytesMax = FeedLimits.smaller(than: $0.recordBytesMax) }
            throw undelivered
        }
        metrics.published(written)
        try await mark(batch)
        return true
    }

    /// Nil where nothing waits, or where another copy has the right; empty where it is to be asked
    /// again.
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
            size.committed(batch?.changes.count ?? 0, after: .now - start)
            return batch
        } catch let error as PostgresError where error.isTooSlow {
            size.exceeded(changesMax)
            throw error
        } catch let error as PostgresError where error.isRecordFault {
            if changesMax == 1 {
                try await passOverOldest(error)
            } else {
                size.exceeded(changesMax)
            }
            return .empty
        }
    }

    private func read(changesMax: Int) async throws -> FeedBatch? {
        try await client.withConnection { connection in
            let held = try await lease.hold(changesMax: changesMax, connection)
            guard let suspectThrough = held else { return nil }
            let batch = FeedBatch(
                try await OutboxTable.read(on: connection),
                suspectThrough: suspectThrough
            )
            return batch.changes.isEmpty ? nil : batch
        }
    }

    /// Takes the oldest change out of the outbox, which cannot be read even by itself; it stays in
    /// the history.
    private func passOverOldest(_ error: PostgresError) async throws {
        try await client.withConnection { connection in
            guard let oldest = try await connection.run(OutboxTable.oldest).first else { return }
            var pipeline = Pipeline()
            lease.confirm([oldest], in: &pipeline)
            _ = try await connection.run(pipeline)
            refusals.passedOver(change: oldest, error)
        }
    }

    /// Notes for a repetition whose states may end in an older version than the newest.
    ///
    /// - Parameter suspects: those of whom something of a copy that is gone may be under way.
    private func repeatStates(of userIDs: Set<Identifier>, suspects: Set<Identifier>) async throws {
        let users = Array(userIDs)
        _ = try await RecordFaults.isolating(users[...], size: size) { part in
            var pipeline = Pipeline()
            lease.republish(Set(part), in: &pipeline)
            pipeline.add(
                FeedRepetitionTable.add,
                unlessEmpty: Array(suspects.intersection(part))
            )
            _ = try await client.run(pipeline)
            return part.map { _ in }
        } refused: { _, error in
            refusals.passedOverRepetition(error)
        }
    }

    /// Keeps the right for as long as the body takes.
    ///
    /// Where it cannot be kept another copy may begin before the body has ended: `mark` finds out.
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

    /// Takes what is acknowledged from the outbox.
    ///
    /// Where another copy has begun meanwhile, because this process stood still or was cut off from
    /// the database, what it wrote may now lie behind that copy's: the users' states are then
    /// published once more.
    private func mark(_ batch: FeedBatch) async throws {
        var confirmation = Pipeline()
        lease.confirm(batch.changes.map(\.id), in: &confirmation)
        let suspects = batch.suspectUserIDs
        var pipeline = confirmation
        lease.republish(batch.userIDs, in: &pipeline)
        pipeline.add(FeedRepetitionTable.add, unlessEmpty: Array(suspects))
        do {
            _ = try await client.run(pipeline)
        } catch let error as PostgresError where error.isRecordFault {
            // First the repetitions: what is not confirmed is published again.
            try await repeatStates(of: batch.userIDs, suspects: suspects)
            _ = try await client.run(confirmation)
        }
        state.withLock { $0.doubtful.subtract(batch.userIDs) }
    }

    /// Reports at intervals how much waits, whichever copy publishes it, and puts back what is to
    /// be published again; no time that the database's clock gave lies too far ahead then.
    private func reportBacklog() async throws {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            guard state.backlogReportedAt.map({ now - $0 >= Self.backlogInterval }) ?? true else {
                return false
            }
            state.backlogReportedAt = now
            return true
        }
        guard isDue else { return }
        var pipeline = Pipeline()
        pipeline.add(FeedLeaseTable.shorten)
        pipeline.add(FeedRepetitionTable.shorten)
        pipeline.add(FeedRepetitionTable.publishDue)
        let backlog = pipeline.add(OutboxTable.backlog)
        let waiting = try await client.run(pipeline)[backlog][0]
        metrics.waiting(changes: waiting.count, oldestSeconds: waiting.oldestSeconds)
    }
}
