import Postgres

package enum ReplayState: String, Sendable, CaseIterable, TextColumnValue {
    /// The replay is recorded; nothing was sent.
    case prepared
    /// The replay sends records or waits for outcomes; also the state that a killed process leaves behind.
    case running
    /// Too many records were refused again, or somebody stopped the replay.
    case stopped
    /// All records are sent, and each outcome is known.
    case completed
    /// A server was unavailable, or the process was asked to end; it can be continued.
    case interrupted
}

package struct ReplayRow: Sendable, Equatable {
    package let number: Int64
    package let who: String
    package let why: String
    package let begunAt: StoredTime
    /// The filter as text for people.
    package let filter: String
    package let count: Int64
    /// Maximum records per second.
    package let rate: Int64
    /// Maximum share of failing records, from 0 to 1.
    package let failingShareMax: Double
    package let state: ReplayState
    package let endedAt: StoredTime?
    /// The reason of a stop or an interruption; empty otherwise.
    package let note: String
    /// Whether a process holds the replay's lock.
    package let isHeld: Bool
    package let counts: ReplayCounts

    /// The actual state: a running replay that no process holds was interrupted.
    package var effectiveState: ReplayState { state == .running && !isHeld ? .interrupted : state }
}

package struct ReplayCounts: Sendable, Equatable {
    package var sent: Int64 = 0
    package var accepted: Int64 = 0
    package var refused: Int64 = 0
    /// Records never sent, because they cannot be or because the replay was abandoned.
    package var unsent: Int64 = 0
    /// Records sent, whose outcome nobody found out.
    package var unknown: Int64 = 0
}

package enum ReplayTable {
    package typealias New = (who: String, why: String, filter: String, count: Int, rate: Int, failingShareMax: Double)

    /// Returns the replay's number.
    package static let add = Statement<New, Int64>(
        [
            .value("who", \.who), .value("why", \.why), .value("filter", \.filter), .value("count", \.count),
            .value("rate", \.rate), .value("failing_share_max", \.failingShareMax),
        ], returning: RowReader("number"),
        """
        INSERT INTO dead_letter_replays (who, why, filter, count, rate, failing_share_max)
        VALUES ($who, $why, $filter, $count, $rate, $failing_share_max)
        RETURNING number
        """)

    /// Corrects the number of held letters, in the transaction that records the replay.
    package static let setCount = Statement<(number: Int64, count: Int), Void>(
        [.value("number", \.number), .value("count", \.count)],
        "UPDATE dead_letter_replays SET count = $count WHERE number = $number")

    package typealias Change = (
        number: Int64, state: ReplayState, note: String,
        /// The person who began or continued it.
        who: AuditorName,
        /// The action that is appended; nil for none.
        action: DeadLetterAction.Kind?
    )

    package static let setState = Statement<Change, Void>(
        [
            .value("number", \.number), .value("state", \.state), .value("note", \.note), .value("who", \.who.text),
            .value("action", \.action),
        ],
        """
        WITH changed AS (
            UPDATE dead_letter_replays SET state = $state, note = $note WHERE number = $number
            RETURNING number, why
        )
        SELECT \(DeadLetterAction.Kind.replayed.function)(
            $who, $action, changed.why, changed.number, ARRAY[NULL], ARRAY[nullif($note, '')])
        FROM changed WHERE $action IS NOT NULL
        """)

    /// The newest replays, newest first.
    package static let newest = Statement<Int, ReplayRow>(
        [.value("limit")], returning: row, select + " ORDER BY replay.number DESC LIMIT $limit")

    package static let get = Statement<Int64, ReplayRow>(
        [.value("number")], returning: row, select + " WHERE replay.number = $number")

    /// Locks the replay until the session ends; false if another session holds it.
    package static let acquire = Statement<Int64, Bool>(
        [.value("number")], returning: RowReader("is_locked"),
        "SELECT pg_try_advisory_lock(\(lockClass), $number::int) AS is_locked")

    private static let lockClass = "hashtext('dead letter replay')"

    private static let select = """
        SELECT replay.number, replay.who, replay.why, replay.begun_at, replay.filter, replay.count,
            replay.rate, replay.failing_share_max, replay.state, replay.ended_at, replay.note,
            EXISTS (
                SELECT FROM pg_locks AS held
                WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
                    AND held.classid = \(lockClass)::oid
                    AND held.objid = replay.number::int::oid
                    AND held.database = (
                        SELECT oid FROM pg_database WHERE datname = current_database()
                    )
            ) AS is_held,
            counts.sent, counts.accepted, counts.refused, counts.unsent, counts.unknown
        FROM dead_letter_replays AS replay, LATERAL (
            SELECT count(record.sent_at) AS sent,
                count(*) FILTER (WHERE record.outcome = 'accepted') AS accepted,
                count(*) FILTER (WHERE record.outcome = 'refused') AS refused,
                count(*) FILTER (WHERE record.outcome = 'unsent') AS unsent,
                count(*) FILTER (WHERE record.outcome = 'unknown') AS unknown
            FROM dead_letter_replay_records AS record WHERE record.replay = replay.number
        ) AS counts
        """

    private static let row = RowReader(
        ReplayRow.init, "number", "who", "why", "begun_at", "filter", "count", "rate", "failing_share_max", "state",
        "ended_at", "note", "is_held", RowReader(ReplayCounts.init, "sent", "accepted", "refused", "unsent", "unknown"))
}
