import Kafka
import Postgres
import Worker

/// Publishes what users may use: every change, and each user's newest state.
///
/// Changes wait in an outbox that the transaction of their rows has filled, so none is published
/// before its commit and none is lost by a crash; a crash between an acknowledgement and its mark
/// publishes again, from the same change on and in the same order.
final class ChangeFeed: Outbox {
    private let client: PostgresClient
    private let topics: FeedTopics
    private let lease = FeedLease()
    private let bell = Doorbell()

    /// How long changes of other writers wait until they are looked for.
    private static let sweepInterval = Duration.milliseconds(200)

    init(client: PostgresClient, topics: FeedTopics) {
        self.client = client
        self.topics = topics
    }

    /// Says that this worker has committed changes.
    func ring() {
        bell.ring()
    }

    func waitForOccasion() async throws {
        await bell.wait(for: Self.sweepInterval)
    }

    func empty(_ deliver: OutboxDelivery) async throws {
        while try await publish(deliver) {
            try Task.checkCancellation()
        }
    }

    func close() async {
        // Whoever comes next waits for the lease to end where this fails.
        _ = try? await client.withConnection { connection in
            try await connection.pipeline([lease.release])
        }
    }

    /// Publishes the oldest changes; false where none is left for this copy.
    private func publish(_ deliver: OutboxDelivery) async throws -> Bool {
        let handOverEnd = ContinuousClock.now + FeedLease.handOverMax
        guard let batch = try await nextBatch() else { return false }
        // Too late: the right is asked for anew.
        guard ContinuousClock.now < handOverEnd else { return true }
        try await deliver(batch.records(topics))
        try await mark(batch)
        return true
    }

    /// Nil where nothing waits, or where another copy has the right.
    private func nextBatch() async throws -> FeedBatch? {
        try await client.withConnection { connection in
            guard try await connection.pipeline([lease.hold])[0].first != nil else { return nil }
            let batch = try await connection.transaction(isolation: .repeatableRead) {
                FeedBatch(
                    try await $0.pipeline([
                        FeedReading.changes, FeedReading.users, FeedReading.held,
                    ])
                )
            }
            return batch.changes.isEmpty ? nil : batch
        }
    }

    /// Takes what is acknowledged from the outbox.
    ///
    /// Where the process stood still for so long that another copy has begun meanwhile, what it
    /// wrote may now lie behind that copy's: the users' states are then published once more.
    private func mark(_ batch: FeedBatch) async throws {
        let ids = PostgresValue.int8Array(batch.changes.map(\.id))
        let isStillHeld = try await client.withConnection { connection in
            try await connection.pipeline([
                PostgresStatement(
                    "DELETE FROM unpublished_changes WHERE id = ANY ($1::int8[])",
                    [ids]
                ),
                lease.isStillHeld,
            ])[1].first != nil
        }
        guard !isStillHeld else { return }
        _ = try await client.query(
            """
            INSERT INTO unpublished_changes (user_id, version)
            SELECT user_id, version FROM user_versions WHERE user_id = ANY ($1::text[])
            """,
            [.textArray(Array(Set(batch.changes.map(\.userID))))]
        )
    }
}
