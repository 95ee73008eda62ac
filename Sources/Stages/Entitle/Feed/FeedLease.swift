import AppStore
import Postgres
import Store
import Synchronization

/// The right to publish, which one copy of the worker has at a time.
///
/// Who loses the database cannot know whether another has begun, and of one that was killed a
/// request may still be on its way to the broker. So the right ends by itself, by the database's
/// clock, a few seconds after it was last renewed, and nothing is handed over late in it. What was
/// handed over stands beside it until it is confirmed: what never was is published again by the
/// next holder (`FeedRepetitionTable`).
final class FeedLease: Sendable {
    /// 128 random bits, so that no two holders are the same.
    private let holder = String(UInt128.random(in: .min ... .max), radix: 16)
    /// Before the database was asked that last gave the right; nil where it was not given.
    private let confirmed = Mutex<ContinuousClock.Instant?>(nil)

    /// How often it is renewed while records are on their way.
    static let renewalInterval = Duration.seconds(1)
    /// How long after the database was asked, at the latest, records are handed over.
    ///
    /// What is left of the right then is for requests that are still on their way when this process
    /// dies. Where the broker stands still for longer than that, such a request may be served after
    /// the next copy's: who reads the changes passes over versions that it knows, and the states
    /// end in the newest again by a repetition.
    private static let handOverMax = Duration.seconds(2)

    /// Whether records may be handed over now.
    var isFresh: Bool {
        let confirmed = confirmed.withLock { $0 }
        return confirmed.map { ContinuousClock.now < $0 + Self.handOverMax } ?? false
    }

    /// Takes the right or keeps it where changes wait.
    ///
    /// - Parameter changesMax: how many count as handed over from here on.
    /// - Returns: up to which ID in the outbox changes are suspect; nil where none wait, and where
    ///   another copy has the right.
    func hold(changesMax: Int, _ connection: PostgresConnection) async throws -> Int64? {
        let asked = ContinuousClock.now
        let request = FeedLeaseTable.Request(holder: holder, changesMax: changesMax)
        let suspectThrough = try await connection.run(FeedLeaseTable.hold, request).first
        confirmed.withLock { $0 = suspectThrough == nil ? nil : asked }
        return suspectThrough
    }

    /// Keeps the right, also one that has ended and that nobody has taken since.
    func renew(_ connection: PostgresConnection) async throws {
        let asked = ContinuousClock.now
        let isHeld = try await connection.run(FeedLeaseTable.renew, holder).first ?? false
        confirmed.withLock { $0 = isHeld ? asked : nil }
    }

    /// Removes from the outbox what the broker has acknowledged, if this copy has the right still.
    func confirm(_ ids: [Int64], in pipeline: inout Pipeline) {
        pipeline.add(FeedLeaseTable.confirm, (holder, ids))
    }

    /// Publishes the newest states of users again, unless this copy has had the right all the time.
    func republish(_ userIDs: Set<Identifier>, in pipeline: inout Pipeline) {
        pipeline.add(FeedLeaseTable.republish, (holder, Array(userIDs)))
    }

    /// Lets another copy begin at once, where nothing is under way.
    func release(_ client: PostgresClient) async throws {
        _ = try await client.run(FeedLeaseTable.release, holder)
    }
}
