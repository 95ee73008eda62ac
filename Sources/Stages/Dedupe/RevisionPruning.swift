import Postgres
import Store
import Synchronization

/// Forgets what was marked longer ago than the retention, beside the work and in small steps.
///
/// One step goes through some pages of the tables, so that it never holds anybody up; between steps
/// it rests. Several workers may prune at once: what one has deleted the other no longer finds.
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
        // Workers that were started together need not prune together.
        let first = ContinuousClock.now + interval * Double.random(in: 0.1...1)
        schedule = Mutex(Schedule(next: first))
    }

    deinit {
        schedule.withLock { $0.pass?.cancel() }
    }

    /// Begins a pass in the background when it is time for one.
    func beginIfDue() {
        let now = ContinuousClock.now
        schedule.withLock { [client, retention, interval] schedule in
            guard now >= schedule.next else { return }
            schedule.next = now + interval
            schedule.pass?.cancel()
            schedule.pass = Task { await Self.prune(client, olderThan: retention) }
        }
    }

    /// Goes through the whole memory once; gives up where PostgreSQL does, until the next time.
    static func prune(_ client: PostgresClient, olderThan retention: Duration) async {
        var page: Int64 = 0
        do {
            while !Task.isCancelled {
                let hasMore = try await DedupeForgetting.prune(
                    olderThan: retention,
                    firstPage: page,
                    on: client
                )
                if !hasMore { return }
                page += DedupeForgetting.pagesPerStep
                try await Task.sleep(for: rest)
            }
        } catch {
            return
        }
    }
}
