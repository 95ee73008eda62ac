package import AppStore
import Postgres

/// The table `recovery_windows`: how far each app's notification history has been read.
package enum RecoveryWindowTable {
    package enum Job: String, CaseIterable, Sendable {
        /// Failed deliveries of the last days.
        case missed
        /// All that Apple keeps.
        case complete
    }

    /// A run in progress.
    package struct Run: Sendable {
        package let app: RecoveredApp
        package let job: Job
        package let until: Timestamp
        /// The window has been read up to here.
        package let readUntil: Timestamp
        /// The next page of the slice that begins there; nil for its first.
        package let pageToken: String?
        /// Pages that were read in all runs, by which a copy that has lost the lock is noticed.
        package let pageNumber: Int64
    }

    /// The windows of the runs that begin now.
    package typealias Windows = (missedFrom: Timestamp, completeFrom: Timestamp, until: Timestamp)

    /// Sets which apps Apple is asked about: adds the jobs of new ones, which are due at once, and
    /// removes those of all others.
    ///
    /// - Parameter finishing: whether purchases are finished from now on; those before are not.
    package static let configure = Statement<
        (apps: [RecoveredApp], finishing: Bool, now: Timestamp), Void
    >(
        [
            .rows(
                "apps",
                [Column("environment", \.environment), Column("bundle_id", \.bundleID)],
                \.apps
            ), .value("finishing", \.finishing), .value("now_ms", \.now),
        ],
        """
        WITH given AS (SELECT * FROM $apps),
        removed AS (
            DELETE FROM recovery_windows AS known
            WHERE NOT EXISTS (
                SELECT FROM given
                WHERE given.bundle_id = known.bundle_id AND given.environment = known.environment
            )
        ),
        unfinished AS (
            DELETE FROM recovery_requests
            WHERE NOT $finishing AND kind = 'finish' AND finished_at IS NULL
        )
        INSERT INTO recovery_windows AS known (environment, bundle_id, job, finish_from_ms)
        SELECT given.environment, given.bundle_id, job, CASE WHEN $finishing THEN $now_ms END
        FROM given CROSS JOIN unnest(ARRAY['missed', 'complete']) AS job
        ON CONFLICT (bundle_id, environment, job) DO UPDATE
        SET finish_from_ms = CASE WHEN $finishing
            THEN coalesce(known.finish_from_ms, excluded.finish_from_ms) END
        """
    )

    /// Begins or continues the run that is due; no row if none is, or if Apple has asked to wait.
    ///
    /// `missed` comes before `complete`, which may take an hour.
    package static let due = Statement<(app: RecoveredApp, windows: Windows), Run>(
        RecoveredApp.parameters { $0.app } + [
            .value("missed_from", \.windows.missedFrom),
            .value("complete_from", \.windows.completeFrom),
            .value("now_ms", \.windows.until),
        ],
        returning: RowReader(
            Run.init,
            RecoveredApp.reader,
            RowReader<String>(stringLiteral: "job").map { Job(rawValue: $0) ?? .complete },
            "window_until_ms",
            "read_until_ms",
            "page_token",
            "page_number"
        ),
        """
        UPDATE recovery_windows AS known
        SET started_at = coalesce(known.started_at, now()),
            window_from_ms = coalesce(known.window_from_ms, due.begin_ms),
            window_until_ms = coalesce(known.window_until_ms, $now_ms),
            read_until_ms = coalesce(known.read_until_ms, due.begin_ms)
        FROM (
            SELECT job, CASE job WHEN 'missed' THEN $missed_from ELSE $complete_from END AS begin_ms
            FROM recovery_windows
            WHERE environment = $environment AND bundle_id = $bundle_id AND due_at <= now()
              AND \(RecoveryLimitTable.isOpen("'\(RecoveryLimitTable.notifications)'"))
            ORDER BY job DESC LIMIT 1
        ) AS due
        WHERE known.environment = $environment AND known.bundle_id = $bundle_id
          AND known.job = due.job
        RETURNING known.environment, known.bundle_id, known.job, known.window_until_ms,
            known.read_until_ms, known.page_token, known.page_number
        """
    )

    /// The position of a run after a page.
    package typealias Advance = (
        run: Run,
        readUntil: Timestamp,
        pageToken: String?,
        listed: Int,
        published: Int,
        unreadable: Int,
        /// From the start of a run to the next one's.
        interval: Duration
    )

    /// Moves a run on; a run that has reached the window's end is over.
    ///
    /// Returns no row if another copy has moved it since.
    package static let advance = Statement<Advance, Bool>(
        ofRun { $0.run } + [
            .value("read_until", \.readUntil), .value("page_token", \.pageToken),
            .value("listed", \.listed), .value("published", \.published),
            .value("unreadable", \.unreadable),
            .value("interval_ms", \.interval.wholeMilliseconds),
        ],
        returning: RowReader("is_over"),
        """
        UPDATE recovery_windows AS known
        SET page_number = known.page_number + 1,
            listed_count = known.listed_count + $listed,
            published_count = known.published_count + $published,
            page_token = $page_token,
            unreadable_count = CASE WHEN NOT over.is_over
                THEN known.unreadable_count + $unreadable ELSE 0 END,
            read_until_ms = CASE WHEN over.is_over THEN NULL ELSE $read_until END,
            due_at = CASE WHEN over.is_over
                THEN known.started_at + $interval_ms * interval '1 millisecond'
                ELSE known.due_at END,
            started_at = CASE WHEN NOT over.is_over THEN known.started_at END,
            window_from_ms = CASE WHEN NOT over.is_over THEN known.window_from_ms END,
            window_until_ms = CASE WHEN NOT over.is_over THEN known.window_until_ms END,
            completed_at = CASE WHEN over.is_over THEN now() ELSE known.completed_at END,
            completed_from_ms = CASE WHEN over.is_over THEN known.window_from_ms
                ELSE known.completed_from_ms END,
            completed_until_ms = CASE WHEN over.is_over THEN known.window_until_ms
                ELSE known.completed_until_ms END,
            completed_unreadable_count = CASE WHEN over.is_over
                THEN known.unreadable_count + $unreadable
                ELSE known.completed_unreadable_count END
        FROM (
            SELECT job, $read_until >= window_until_ms AS is_over FROM recovery_windows
            WHERE \(isRun)
        ) AS over
        WHERE known.environment = $environment AND known.bundle_id = $bundle_id
          AND known.job = over.job AND known.page_number = $page_number
        RETURNING over.is_over
        """
    )

    private static let isRun = """
        environment = $environment AND bundle_id = $bundle_id AND job = $job
          AND page_number = $page_number
        """

    private static func ofRun<Input>(
        _ run: @escaping @Sendable (Input) -> Run
    ) -> [Parameter<Input>] {
        RecoveredApp.parameters { run($0).app } + [
            .value("job") { run($0).job.rawValue },
            .value("page_number") { run($0).pageNumber },
        ]
    }

    /// The state of a job, for the metrics and the operators' commands.
    package struct State: Sendable {
        package let app: RecoveredApp
        package let job: Job
        /// The share of the run in progress that is read; 1 between runs.
        package let progress: Double
        package let listed: Int64
        package let published: Int64
        /// When the last whole run ended, and the window that it read; nil before the first.
        package let completedAt: Timestamp?
        package let completedFrom: Timestamp?
        package let completedUntil: Timestamp?
        /// Entries of Apple's list without a notification in them, of that run.
        package let completedUnreadable: Int64
    }

    package static let states = Statement<Void, State>(
        returning: RowReader(
            State.init,
            RecoveredApp.reader,
            RowReader<String>(stringLiteral: "job").map { Job(rawValue: $0) ?? .complete },
            "progress",
            "listed_count",
            "published_count",
            RowReader<StoredTime?>(stringLiteral: "completed_at").map { $0.map { Timestamp($0) } },
            "completed_from_ms",
            "completed_until_ms",
            "completed_unreadable_count"
        ),
        """
        SELECT environment, bundle_id, job,
               CASE WHEN started_at IS NULL THEN 1 ELSE
                   (read_until_ms - window_from_ms)::float8
                   / greatest(window_until_ms - window_from_ms, 1) END AS progress,
               listed_count, published_count, completed_at, completed_from_ms, completed_until_ms,
               completed_unreadable_count
        FROM recovery_windows ORDER BY environment, bundle_id, job
        """
    )
}
