import Postgres
import Store
import Synchronization

/// Forgets IDs that were marked longer ago than the retention, in the background and in small
/// steps.
///
/// A step reads a few pages of the tables, so no lock is held for long; between steps the pruning
/// pauses. Several workers may prune at once: rows that one has deleted are not found by the
/// others.
final class RevisionPruning: Sendable {
    private struct Schedule {
        var next: ContinuousClock.Instant
        var pass: Task<Void, Never>?
    }

    private let client: PostgresClient
    private let retention: Duration
    private let interval: Duration
    private let schedule: Mutex<Schedule>

    private static let rest = Duration.milliseconds(200)

    init(client: PostgresClient, retention: Duration, interval: Duration) {
        self.client = client
        self.retention = retention
        self.interval = interval
        // Begin at a random time, so that workers started together do not prune together.
        let first = ContinuousClock.now + interval * Double.random(in: 0.1...1)
        schedule = Mutex(Schedule(next: first))
    }

    deinit { schedule.withLock { $0.pass?.cancel() } }

    /// Begins a pass in the background if one is due.
    func beginIfDue() {
        let now = ContinuousClock.now
        schedule.withLock { [client, retention, interval] schedule in
            guard now >= schedule.next else { return }
            schedule.next = now + interval
            schedule.pass?.cancel()
            schedule.pass = Task { await Self.prune(client, olderThan: retention) }
        }
    }

    /// Prunes the whole memory once; a PostgreSQL error ends the pass, and the next pass starts over.
    static func prune(_ client: PostgresClient, olderThan retention: Duration) async {
        var page: Int64 = 0
        do {
            while !Task.isCancelled {
                let hasMore = try await DedupeForgetting.prune(olderThan: retention, firstPage: page, on: client)
                if !hasMore { return }
                page += DedupeForgetting.pagesPerStep
                try await Task.sleep(for: rest)
            }
        } catch { return }
    }
}
