import Postgres
package import Records

package enum ReplayOutcome: String, Sendable, CaseIterable, TextColumnValue {
    /// The stage that reads the topic accepted it, and no later one has refused it.
    case accepted
    /// It has a new dead letter.
    case refused
    /// It was not sent: it cannot be, or the replay was abandoned before.
    case unsent
    /// It was sent, and the replay was abandoned before its outcome was known.
    case unknown
}

package struct ReplayRecordRow: Sendable, Equatable {
    package let ordinal: Int64
    package let letterID: String
    /// The transaction ID that the original states.
    package let transactionID: String?
    /// The body that an observation came from, as `topic/partition/offset`.
    package let raw: String?
    package let sentAt: StoredTime?
    package let sent: RecordPosition?
    package let outcome: ReplayOutcome?
    /// The reason for a refusal or for not sending; empty otherwise.
    package let outcomeReason: String
    package let refusedAs: String?
    package let outcomeAt: StoredTime?
}

/// The table `dead_letter_replay_records`, with the entries it adds to `dead_letter_actions`.
package enum ReplayRecordTable {
    /// A dead letter that a replay acquires.
    package typealias New = (ordinal: Int64, letterID: String, transactionID: String?, raw: String?)

    /// Acquires letters, in the order of their IDs, so that two replays never deadlock.
    ///
    /// Returns the ordinals of the acquired ones; another replay holds the others.
    package static let hold = Statement<(replay: Int64, records: [New]), Int64>(
        [.value("replay", \.replay), .rows("given", newColumns, \.records)], returning: RowReader("ordinal"),
        """
        INSERT INTO dead_letter_replay_records (replay, $given.columns)
        SELECT $replay, $given.columns FROM $given ORDER BY dead_letter_id
        ON CONFLICT (dead_letter_id) WHERE outcome IS NULL DO NOTHING
        RETURNING ordinal
        """)

    private static let newColumns: Columns<New> = [
        Column("ordinal", \.ordinal), Column("dead_letter_id", \.letterID), Column("transaction_id", \.transactionID),
        Column("raw", \.raw),
    ]

    /// The last replay of one letter that did not leave it unsent.
    package struct Last: Sendable, Equatable {
        package let letterID: String
        package let replay: Int64
        /// The outcome of the letter.
        ///
        /// `nil` if the replay still holds it.
        package let outcome: ReplayOutcome?
        package let refusedAs: String?
    }

    /// The last replay of each of these letters that was replayed or is held.
    package static let last = Statement<[String], Last>(
        [.values("ids") { $0 }], returning: RowReader(Last.init, "dead_letter_id", "replay", "outcome", "refused_as"),
        """
        SELECT DISTINCT ON (dead_letter_id) dead_letter_id, replay, outcome, refused_as
        FROM dead_letter_replay_records
        WHERE dead_letter_id = ANY ($ids) AND outcome IS DISTINCT FROM 'unsent'
        ORDER BY dead_letter_id, replay DESC
        """)

    package typealias Page = (replay: Int64, after: Int64, limit: Int)

    /// The records of a replay after an ordinal, in their order.
    package static let read = Statement<Page, ReplayRecordRow>(
        [.value("replay", \.replay), .value("after", \.after), .value("limit", \.limit)], returning: row,
        """
        SELECT \(row.names(of: "record")) FROM dead_letter_replay_records AS record
        WHERE record.replay = $replay AND record.ordinal > $after
        ORDER BY record.ordinal LIMIT $limit
        """)

    /// The position of one record that was written.
    package typealias Sent = (ordinal: Int64, position: RecordPosition)

    /// Records the broker's acknowledgements, with the action `replayed` of each letter.
    package static let sent = Statement<(replay: Int64, records: [Sent]), Void>(
        [.value("replay", \.replay), .rows("given", sentColumns, \.records)],
        """
        WITH changed AS (
            UPDATE dead_letter_replay_records AS record
            SET sent_topic = given.sent_topic, sent_partition = given.sent_partition,
                sent_offset = given.sent_offset
            FROM $given
            WHERE record.replay = $replay AND record.ordinal = given.ordinal
                AND record.sent_at IS NULL
            RETURNING record.dead_letter_id,
                concat_ws('/', given.sent_topic, given.sent_partition, given.sent_offset)
                    AS position
        )
        SELECT \(DeadLetterAction.Kind.replayed.function)(
            replay.who, 'replayed', replay.why, replay.number, changed.ids, changed.positions)
        FROM dead_letter_replays AS replay, (
            SELECT array_agg(dead_letter_id) AS ids, array_agg(position) AS positions FROM changed
        ) AS changed
        WHERE replay.number = $replay
        """)

    private static let sentColumns: Columns<Sent> =
        [Column("ordinal", \.ordinal)] + RecordPosition.columns("sent").of { $0.position }

    package struct Decided: Sendable, Equatable {
        package let ordinal: Int64
        package let outcome: ReplayOutcome
        package let reason: String
        package let refusedAs: String?

        package init(ordinal: Int64, _ outcome: ReplayOutcome, reason: String = "", refusedAs: String? = nil) {
            self.ordinal = ordinal
            self.outcome = outcome
            self.reason = reason
            self.refusedAs = refusedAs
        }
    }

    /// The first dead letter of each of these records that the index holds: of the sent body itself,
    /// or of an observation of it, which the later stages read.
    ///
    /// A body brings the observations of several transactions; a letter that was one of these is
    /// refused again by its own.
    package static let refused = Statement<(replay: Int64, ordinals: [Int64]), Decided>(
        [.value("replay", \.replay), .values("ordinals", \.ordinals)],
        returning: RowReader(
            { (ordinal: Int64, id: String, reason: String) in
                Decided(ordinal: ordinal, .refused, reason: StorableText.of(reason), refusedAs: id)
            }, "ordinal", "id", "reason"),
        """
        SELECT DISTINCT ON (record.ordinal) record.ordinal, letter.id,
            letter.reason || ' in ' || letter.stage || ': ' || letter.detail AS reason
        FROM dead_letter_replay_records AS record
        CROSS JOIN LATERAL (
            SELECT * FROM dead_letters AS same
            WHERE (same.source_topic, same.source_partition, same.source_offset)
                    = (record.sent_topic, record.sent_partition, record.sent_offset)
                AND EXISTS (
                    SELECT FROM dead_letter_replay_records AS sent
                    WHERE sent.dead_letter_id = same.replay_of AND sent.replay = $replay
                        AND (sent.sent_topic, sent.sent_partition, sent.sent_offset)
                            = (record.sent_topic, record.sent_partition, record.sent_offset)
                )
            UNION ALL
            SELECT * FROM dead_letters AS later
            WHERE (later.raw_topic, later.raw_partition, later.raw_offset)
                    = (record.sent_topic, record.sent_partition, record.sent_offset)
                AND (record.raw IS NULL
                    OR later.transaction_id IS NOT DISTINCT FROM record.transaction_id)
        ) AS letter
        WHERE record.replay = $replay AND record.ordinal = ANY ($ordinals)
            AND letter.id <> record.dead_letter_id
        ORDER BY record.ordinal, letter.failed_at, letter.id
        """)

    /// Records outcomes, with the actions `replay_accepted` and `replay_refused` of the letters.
    ///
    /// A later stage may refuse an accepted one, but never the reverse.
    package static let decide = Statement<(replay: Int64, records: [Decided]), Void>(
        [.value("replay", \.replay), .rows("given", decidedColumns, \.records)],
        """
        WITH changed AS (
            UPDATE dead_letter_replay_records AS record
            SET outcome = given.outcome, outcome_reason = given.reason,
                refused_as = given.refused_as
            FROM $given
            WHERE record.replay = $replay AND record.ordinal = given.ordinal
                AND (record.outcome IS NULL
                    OR record.outcome = 'accepted' AND given.outcome = 'refused')
            RETURNING record.dead_letter_id, record.outcome, record.outcome_reason
        )
        SELECT \(DeadLetterAction.Kind.replayed.function)(
            replay.who, 'replay_' || changed.outcome, replay.why, replay.number, changed.ids,
            changed.reasons)
        FROM dead_letter_replays AS replay, (
            SELECT outcome, array_agg(dead_letter_id) AS ids,
                array_agg(nullif(outcome_reason, '')) AS reasons
            FROM changed WHERE outcome IN ('accepted', 'refused') GROUP BY outcome
        ) AS changed
        WHERE replay.number = $replay
        """)

    private static let decidedColumns: Columns<Decided> = [
        Column("ordinal", \.ordinal), Column("outcome", \.outcome), Column("reason", \.reason),
        Column("refused_as", \.refusedAs),
    ]

    /// Abandons the undecided records: another replay may acquire the letters.
    package static let abandon = Statement<(replay: Int64, reason: String), Void>(
        [.value("replay", \.replay), .value("reason", \.reason)],
        """
        UPDATE dead_letter_replay_records
        SET outcome = CASE WHEN sent_at IS NULL THEN 'unsent' ELSE 'unknown' END,
            outcome_reason = $reason
        WHERE replay = $replay AND outcome IS NULL
        """)

    private static let row = RowReader(
        ReplayRecordRow.init, "ordinal", "dead_letter_id", "transaction_id", "raw", "sent_at",
        RecordPosition.optionalReader("sent"), "outcome", "outcome_reason", "refused_as", "outcome_at")
}
