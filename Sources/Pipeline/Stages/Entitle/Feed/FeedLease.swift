import AppStore
import Postgres
import Store
import Synchronization

/// The right to publish the feed, held by one copy of the worker at a time.
///
/// A copy that loses the database cannot know whether another has begun, and a request of a killed
/// copy may still be on its way to the broker. So the lease expires by the database's clock a few
/// seconds after its last renewal, and nothing is sent in its last seconds. The lease's row lists
/// sent changes until they are confirmed: the next holder publishes unconfirmed ones again
/// (`FeedRepetitionTable`).
final class FeedLease: Sendable {
    /// 128 random bits, so that no two holders are equal.
    private let holder = String(UInt128.random(in: .min ... .max), radix: 16)
    /// The instant just before the request that last granted the lease.
    ///
    /// `nil` if the lease is not granted.
    private let confirmed = Mutex<ContinuousClock.Instant?>(nil)

    /// Time between two renewals while records are in flight.
    static let renewalInterval = Duration.seconds(1)
    /// Time after the request for the lease within which records may be sent.
    ///
    /// The rest of the lease is for requests that are still in flight when this process dies. If
    /// the broker stalls for longer, it may serve these requests after those of the next copy.
    /// Readers of the changes skip known versions, and a repetition publishes the newest states
    /// last again.
    private static let handOverMax = Duration.seconds(2)

    /// Whether records may be sent now.
    var isFresh: Bool {
        let confirmed = confirmed.withLock { $0 }
        return confirmed.map { ContinuousClock.now < $0 + Self.handOverMax } ?? false
    }

    /// Acquires or renews the lease if changes wait.
    ///
    /// - Parameter changesMax: number of changes that count as sent from now on.
    /// - Returns: the outbox ID up to which a former holder may still have requests in flight;
    ///   `nil` if no change waits or another copy holds the lease.
    func hold(changesMax: Int, _ connection: PostgresConnection) async throws -> Int64? {
        let asked = ContinuousClock.now
        let request: FeedLeaseTable.Request = (holder: holder, changesMax: changesMax)
        let suspectThrough = try await connection.run(FeedLeaseTable.hold, request).first
        confirmed.withLock { $0 = suspectThrough == nil ? nil : asked }
        return suspectThrough
    }

    /// Renews the lease, even if it has expired, unless another copy has acquired it.
    func renew(_ connection: PostgresConnection) async throws {
        let asked = ContinuousClock.now
        let isHeld = try await connection.run(FeedLeaseTable.renew, holder).first ?? false
        confirmed.withLock { $0 = isHeld ? asked : nil }
    }

    /// Removes acknowledged changes from the outbox if this copy still holds the lease.
    func confirm(_ ids: [Int64], in pipeline: inout Pipeline) { pipeline.add(FeedLeaseTable.confirm, (holder, ids)) }

    /// Publishes the newest states of users again if this copy no longer holds the lease.
    func republish(_ userIDs: Set<Identifier>, in pipeline: inout Pipeline) {
        pipeline.add(FeedLeaseTable.republish, (holder, Array(userIDs)))
    }

    /// Releases the lease, so that another copy can begin at once if nothing is in flight.
    func release(_ client: PostgresClient) async throws { _ = try await client.run(FeedLeaseTable.release, holder) }
}
