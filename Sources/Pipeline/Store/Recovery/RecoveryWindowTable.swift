package import AppStore
import Postgres

/// The table `recovery_windows`: the progress in reading each app's notification history.
package enum RecoveryWindowTable {
    package enum Job: String, CaseIterable, Sendable {
        /// The failed deliveries of the last days.
        case missed
        /// All notifications that Apple keeps.
        case complete
    }

    /// A part of a run's window that is not read yet.
    package struct Slice: Identifiable, Sendable {
        package let app: RecoveredApp
        package let job: Job
        package let number: Int64
        package var bounds: Range<Timestamp>
        /// The token of the next page.
        ///
        /// `nil` for the first page.
        ///
        /// Apple accepts the token only with the same bounds.
        package var pageToken: String?
        /// A number that grows with each change, to detect a copy that has lost the lock.
        package var pageNumber: Int64
        /// Number of times that the slice was restarted or delayed.
        package let delayCount: Int64

        package var id: Int64 { number }

        fileprivate static let reader = RowReader(
            {
                Slice(
                    app: $0, job: Job(rawValue: $1) ?? .complete, number: $2, bounds: $3..<max($3, $4), pageToken: $5,
                    pageNumber: $6, delayCount: $7)
            }, RecoveredApp.reader, RowReader<String>(stringLiteral: "job"), RowReader<Int64>(stringLiteral: "number"),
            RowReader<Timestamp>(stringLiteral: "from_ms"), RowReader<Timestamp>(stringLiteral: "until_ms"),
            RowReader<String?>(stringLiteral: "page_token"), RowReader<Int64>(stringLiteral: "page_number"),
            RowReader<Int64>(stringLiteral: "delay_count"))
    }

    /// Numbers of a page's entries, by result.
    package struct PageCounts: Sendable {
        package var listed = 0
        package var published = 0
        /// Number of entries without a notification.
        package var unreadable = 0

        package init() {}
    }

    /// The length of a slice; only one slice is read again if a page's token expires.
    private static let sliceMilliseconds = Timestamp.millisecondsPerDay

    /// The windows of the runs that begin now.
    package typealias Windows = (missedFrom: Timestamp, completeFrom: Timestamp, until: Timestamp)

    /// Sets the apps to recover: adds the jobs of new apps, which are due at once, and removes the
    /// jobs of all other apps.
    ///
    /// - Parameters:
    ///   - apps: the apps, each with whether its refund requests are answered from now on; earlier requests are not.
    ///   - finishing: whether purchases are finished from now on; earlier purchases are not.
    package static let configure = Statement<
        (apps: [(app: RecoveredApp, isReplying: Bool)], finishing: Bool, now: Timestamp), Void
    >(
        [
            .rows(
                "apps",
                [
                    Column("environment", \.app.environment), Column("bundle_id", \.app.bundleID),
                    Column("is_replying", \.isReplying),
                ], \.apps), .value("finishing", \.finishing), .value("now_ms", \.now),
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
        INSERT INTO recovery_windows AS known (
            environment, bundle_id, job, finish_from_ms, refunds_from_ms)
        SELECT given.environment, given.bundle_id, job, CASE WHEN $finishing THEN $now_ms END,
            CASE WHEN given.is_replying THEN $now_ms END
        FROM given CROSS JOIN unnest(ARRAY['missed', 'complete']) AS job
        ON CONFLICT (bundle_id, environment, job) DO UPDATE
        SET finish_from_ms = CASE WHEN $finishing
                THEN coalesce(known.finish_from_ms, excluded.finish_from_ms) END,
            refunds_from_ms = CASE WHEN excluded.refunds_from_ms IS NOT NULL
                THEN coalesce(known.refunds_from_ms, excluded.refunds_from_ms) END
        """)

    /// Begins a due run unless it is in progress: adds the slices of its window.
    ///
    /// A run that the previous version began continues where that version stopped.
    package static let begin = Statement<(app: RecoveredApp, job: Job, windows: Windows), Void>(
        RecoveredApp.parameters { $0.app } + [
            .value("job", \.job.rawValue), .value("missed_from", \.windows.missedFrom),
            .value("complete_from", \.windows.completeFrom), .value("now_ms", \.windows.until),
        ],
        """
        WITH run AS (
            SELECT environment, bundle_id, job,
                   coalesce(window_from_ms, begin_ms) AS from_ms,
                   coalesce(window_until_ms, $now_ms) AS until_ms,
                   coalesce(read_until_ms, window_from_ms, begin_ms) AS read_ms
            FROM recovery_windows, LATERAL (
                SELECT CASE job WHEN 'missed' THEN $missed_from ELSE $complete_from END AS begin_ms
            ) AS given
            WHERE environment = $environment AND bundle_id = $bundle_id AND job = $job
              AND due_at <= now() AND slices_left = 0
            FOR UPDATE OF recovery_windows
        ),
        slices AS (
            SELECT run.*, slice.number, slice.begin_ms
            FROM run CROSS JOIN LATERAL generate_series(
                read_ms, greatest(until_ms - 1, read_ms), \(sliceMilliseconds)::bigint
            ) WITH ORDINALITY AS slice (begin_ms, number)
        ),
        added AS (
            INSERT INTO recovery_slices (
                environment, bundle_id, job, number, from_ms, until_ms)
            SELECT environment, bundle_id, job, number, begin_ms,
                   least(begin_ms + \(sliceMilliseconds), until_ms)
            FROM slices
            ON CONFLICT (bundle_id, environment, job, number) DO UPDATE
            SET from_ms = excluded.from_ms, until_ms = excluded.until_ms, page_token = NULL,
                page_number = 0, delay_count = 0, due_at = now()
        )
        UPDATE recovery_windows AS known
        SET started_at = coalesce(known.started_at, now()), window_from_ms = run.from_ms,
            window_until_ms = run.until_ms, slices_left = (SELECT count(*) FROM slices)
        FROM run
        WHERE known.environment = run.environment AND known.bundle_id = run.bundle_id
          AND known.job = run.job
        """)

    /// Maximum slices that are read at once.
    package static let dueMax = 32

    /// The due slices of a job, the oldest first, because Apple will soon no longer list them.
    package static let due = Statement<(app: RecoveredApp, job: Job), Slice>(
        RecoveredApp.parameters { $0.app } + [.value("job", \.job.rawValue)], returning: Slice.reader,
        """
        SELECT slice.environment, slice.bundle_id, slice.job, slice.number::int8 AS number,
               slice.from_ms, slice.until_ms, slice.page_token, slice.page_number,
               slice.delay_count::int8 AS delay_count
        FROM recovery_windows AS run JOIN recovery_slices AS slice
            ON slice.bundle_id = run.bundle_id AND slice.environment = run.environment
            AND slice.job = run.job
        WHERE run.environment = $environment AND run.bundle_id = $bundle_id AND run.job = $job
          AND run.due_at <= now() AND run.slices_left > 0 AND slice.due_at <= now()
        ORDER BY slice.number LIMIT \(dueMax)
        """)

    /// Shrinks a slice, and the window that the run will have read.
    package static let clip = Statement<(slice: Slice, bounds: Range<Timestamp>), Void>(
        ofRun { $0.slice } + [
            .value("number", \.slice.number), .value("from_ms", \.bounds.lowerBound),
            .value("until_ms", \.bounds.upperBound), .value("former_from_ms", \.slice.bounds.lowerBound),
            .value("former_until_ms", \.slice.bounds.upperBound),
        ],
        """
        WITH clipped AS (
            UPDATE recovery_slices SET from_ms = $from_ms, until_ms = $until_ms
            WHERE \(isRun) AND number = $number
        )
        UPDATE recovery_windows
        SET window_from_ms = CASE WHEN $from_ms > $former_from_ms
                THEN greatest(window_from_ms, $from_ms) ELSE window_from_ms END,
            window_until_ms = CASE WHEN $until_ms < $former_until_ms
                THEN least(window_until_ms, $until_ms) ELSE window_until_ms END
        WHERE \(isRun)
        """)

    /// Advances a slice to its next page.
    package static let advance = Statement<(slice: Slice, next: String, counts: PageCounts), Void>(
        ofPage { ($0.slice, $0.counts) } + [.value("page_token", \.next)],
        """
        WITH page AS (
            UPDATE recovery_slices SET page_token = $page_token, page_number = page_number + 1
            WHERE \(isSlice) RETURNING job
        )
        UPDATE recovery_windows AS known
        SET \(counted), unreadable_count = known.unreadable_count + $unreadable
        FROM page WHERE \(isRunOfPage)
        """)

    /// Delays a slice, with its next page; without a page the slice is read from its beginning.
    package static let delay = Statement<(slice: Slice, next: String?, duration: Duration), Void>(
        ofRun { $0.slice } + [
            .value("number", \.slice.number), .value("slice_page", \.slice.pageNumber), .value("page_token", \.next),
            .value("delay_ms", \.duration.wholeMilliseconds),
        ],
        """
        UPDATE recovery_slices
        SET page_token = $page_token, page_number = page_number + 1, delay_count = delay_count + 1,
            due_at = now() + $delay_ms * interval '1 millisecond'
        WHERE \(isSlice)
        """)

    /// Ends a slice; the last slice ends the run.
    ///
    /// Returns no row if another copy has advanced the slice in the meantime.
    package static let finish = Statement<(slice: Slice, counts: PageCounts, interval: Duration), Bool>(
        ofPage { ($0.slice, $0.counts) } + [.value("interval_ms", \.interval.wholeMilliseconds)],
        returning: RowReader("is_over"),
        """
        WITH page AS (
            DELETE FROM recovery_slices WHERE \(isSlice) RETURNING job
        )
        UPDATE recovery_windows AS known
        SET \(counted), slices_left = known.slices_left - 1,
            unreadable_count = CASE WHEN known.slices_left > 1
                THEN known.unreadable_count + $unreadable ELSE 0 END,
            \(ending("due_at", "known.started_at + $interval_ms * interval '1 millisecond'")),
            \(ending("read_until_ms", "NULL")), \(ending("started_at", "NULL")),
            \(ending("window_from_ms", "NULL")), \(ending("window_until_ms", "NULL")),
            \(ending("completed_at", "now()")),
            \(ending("completed_from_ms", "known.window_from_ms")),
            \(ending("completed_until_ms", "known.window_until_ms")),
            \(ending("completed_unreadable_count", "known.unreadable_count + $unreadable"))
        FROM page WHERE \(isRunOfPage)
        RETURNING known.slices_left = 0 AS is_over
        """)

    /// SQL that sets a column only with the run's last slice.
    private static func ending(_ column: String, _ value: String) -> String {
        "\(column) = CASE WHEN known.slices_left > 1 THEN known.\(column) ELSE \(value) END"
    }

    private static let counted = """
        page_number = known.page_number + 1, listed_count = known.listed_count + $listed,
        published_count = known.published_count + $published
        """

    private static let isRun = """
        environment = $environment AND bundle_id = $bundle_id AND job = $job
        """

    private static let isSlice = "\(isRun) AND number = $number AND page_number = $slice_page"

    private static let isRunOfPage = """
        known.environment = $environment AND known.bundle_id = $bundle_id AND known.job = page.job
        """

    private static func ofRun<Input>(_ slice: @escaping @Sendable (Input) -> Slice) -> [Parameter<Input>] {
        RecoveredApp.parameters { slice($0).app } + [.value("job") { slice($0).job.rawValue }]
    }

    private static func ofPage<Input>(_ page: @escaping @Sendable (Input) -> (slice: Slice, counts: PageCounts))
        -> [Parameter<Input>]
    {
        ofRun { page($0).slice } + [
            .value("number") { page($0).slice.number }, .value("slice_page") { page($0).slice.pageNumber },
            .value("listed") { page($0).counts.listed }, .value("published") { page($0).counts.published },
            .value("unreadable") { page($0).counts.unreadable },
        ]
    }

    /// The state of a job, for the metrics and the operators' commands.
    package struct State: Sendable {
        package let app: RecoveredApp
        package let job: Job
        /// The share of the current run that is read; 1 between runs.
        package let progress: Double
        package let listed: Int64
        package let published: Int64
        /// The end of the last complete run; the following fields are this run's window.
        ///
        /// `nil` before the first run.
        package let completedAt: Timestamp?
        package let completedFrom: Timestamp?
        package let completedUntil: Timestamp?
        /// Number of entries without a notification in that run.
        package let completedUnreadable: Int64
    }

    package static let states = Statement<Void, State>(
        returning: RowReader(
            State.init, RecoveredApp.reader,
            RowReader<String>(stringLiteral: "job").map { Job(rawValue: $0) ?? .complete }, "progress", "listed_count",
            "published_count", RowReader<StoredTime?>(stringLiteral: "completed_at").map { $0.map { Timestamp($0) } },
            "completed_from_ms", "completed_until_ms", "completed_unreadable_count"),
        """
        SELECT environment, bundle_id, job,
               CASE WHEN started_at IS NULL THEN 1 ELSE
                   greatest(0, 1 - slices_left * \(sliceMilliseconds)::float8
                       / greatest(window_until_ms - window_from_ms, 1)) END AS progress,
               listed_count, published_count, completed_at, completed_from_ms, completed_until_ms,
               completed_unreadable_count
        FROM recovery_windows ORDER BY environment, bundle_id, job
        """)
}
