package import AppStore
package import Postgres

/// A recorded action about dead letters; written once and never changed.
package struct DeadLetterAction: Equatable, Sendable {
    package enum Kind: String, TextColumnValue, CaseIterable {
        case resolved, suppressed, reopened, replayed, revealed, exported, redacted
        case replayAccepted = "replay_accepted"
        case replayRefused = "replay_refused"
        case replayStarted = "replay_started"
        case replayStopped = "replay_stopped"
        case replayCompleted = "replay_completed"
        case signedIn = "signed_in"
        case signedOut = "signed_out"

        /// The function that records it, granted to the roles that may do it.
        var function: String {
            switch self {
            case .resolved, .suppressed, .reopened, .revealed, .exported, .signedIn, .signedOut:
                "record_dead_letter_decision"
            case .replayed, .replayAccepted, .replayRefused, .replayStarted, .replayStopped, .replayCompleted,
                .redacted:
                "record_dead_letter_replay"
            }
        }
    }

    /// The number of the action, higher than that of any earlier one.
    package let number: Int64
    package let at: Timestamp
    /// The person, as named by the tool or the console.
    package let who: String
    package let kind: Kind
    package let why: String?
    package let deadLetterID: String?
    package let replay: Int64?
    package let detail: String?
}

/// An action to write; the database adds its number, its time and the role that signed in.
package struct NewDeadLetterAction: Equatable, Sendable {
    package var who: AuditorName
    package var kind: DeadLetterAction.Kind
    /// The reason; required for decisions, and for actions that hand out an original.
    package var why: String?
    /// The letter; required if the action concerns one.
    package var deadLetterID: String?
    package var replay: Int64?
    package var detail: String?

    package init(
        who: AuditorName, kind: DeadLetterAction.Kind, why: String? = nil, deadLetterID: String? = nil,
        replay: Int64? = nil, detail: String? = nil
    ) {
        self.who = who
        self.kind = kind
        self.why = why
        self.deadLetterID = deadLetterID
        self.replay = replay
        self.detail = detail
    }
}

/// The person who acts: 1 to 255 bytes without control characters.
package struct AuditorName: Hashable, Sendable {
    private let name: Identifier

    package var text: String { name.text }

    /// Returns `nil` for a text that is not a name.
    package init?(_ text: String) {
        guard !text.isEmpty, ShortText.isAcceptable(Array(text.utf8)) else { return nil }
        name = Identifier(text)
    }
}

/// A filter for actions; a nil member matches all.
package struct DeadLetterActionQuery: Equatable, Sendable {
    package var who: String?
    package var kind: DeadLetterAction.Kind?
    package var replay: Int64?
    /// Earliest time of an action, inclusive.
    package var since: Timestamp?
    /// Latest time of an action, exclusive.
    package var until: Timestamp?

    package init() {}
}

/// The append-only table `dead_letter_actions`, and `dead_letter_states`, written by its trigger.
package enum DeadLetterActionTable {
    static let appendDecisions = append(by: DeadLetterAction.Kind.resolved.function)
    static let appendReplays = append(by: DeadLetterAction.Kind.replayed.function)

    private static func append(by function: String) -> Statement<[NewDeadLetterAction], Void> {
        Statement(
            [
                .rows(
                    "new",
                    [
                        Column("who", \.who.text), Column("action", \.kind),
                        Column("why") { $0.why.map(StorableText.whole) },
                        Column("dead_letter_id") { $0.deadLetterID.map(StorableText.of) }, Column("replay", \.replay),
                        Column("detail") { $0.detail.map(StorableText.whole) },
                    ])
            ],
            """
            SELECT \(function)(
                new.who, new.action, new.why, new.replay, ARRAY[new.dead_letter_id],
                ARRAY[new.detail])
            FROM $new
            """)
    }

    /// Writes actions, all of them or none, and the letters' states that follow.
    package static func append(_ actions: [NewDeadLetterAction], on client: PostgresClient) async throws {
        let ofReplays = DeadLetterAction.Kind.replayed.function
        var pipeline = Pipeline()
        pipeline.add(appendDecisions, unlessEmpty: actions.filter { $0.kind.function != ofReplays })
        pipeline.add(appendReplays, unlessEmpty: actions.filter { $0.kind.function == ofReplays })
        guard !pipeline.isEmpty else { return }
        _ = try await client.run(pipeline)
    }

    typealias Decision = (query: DeadLetterQuery, action: NewDeadLetterAction, state: String, expected: Int64?)

    static let decide = Statement<Decision, (found: Int64, changed: Int64)>(
        DeadLetterQuery.parameters(\.query) + [
            .value("who", \.action.who.text), .value("action", \.action.kind),
            .value("why") { $0.action.why.map(StorableText.whole) }, .value("state", \.state),
            .value("expected", \.expected),
        ], returning: RowReader({ ($0, $1) }, "found", "changed"),
        """
        WITH selected AS MATERIALIZED (
            SELECT letter.id, letter.state FROM dead_letters AS letter
            WHERE \(DeadLetterQuery.condition)
        )
        SELECT (SELECT count(*) FROM selected) AS found,
            \(DeadLetterAction.Kind.resolved.function)(
                $who, $action, $why, NULL,
                ARRAY(
                    SELECT selected.id FROM selected
                    WHERE selected.state <> $state
                        AND ($expected IS NULL OR $expected = (SELECT count(*) FROM selected))
                    ORDER BY selected.id
                ), '{}'
            ) AS changed
        """)

    /// Writes one action for each selected letter that is not in that state already.
    ///
    /// - Parameters:
    ///   - kind: `resolved`, `suppressed` or `reopened`.
    ///   - expected: how many letters have to be selected, or nothing is written; nil for any.
    ///   - deadline: for all of them, which are written together.
    /// - Returns: the numbers of selected letters and of written actions.
    package static func decide(
        _ kind: DeadLetterAction.Kind, _ query: DeadLetterQuery, who: AuditorName, why: String,
        expecting expected: Int64? = nil, deadline: Duration, on client: PostgresClient
    ) async throws -> (found: Int64, changed: Int64) {
        let action = NewDeadLetterAction(who: who, kind: kind, why: why)
        let state = kind == .reopened ? "open" : kind.rawValue
        return try await client.run(decide, (query, action, state, expected), deadline: deadline)[0]
    }

    private static let reader = RowReader(
        DeadLetterAction.init, "number", RowReader.time("at"), "who", "action", "why", "dead_letter_id", "replay",
        "detail")

    typealias Page = (query: DeadLetterActionQuery, before: Int64, limit: Int)

    static let ofAll = Statement<Page, DeadLetterAction>(
        [
            .value("who") { $0.query.who.map(StorableText.whole) }, .value("kind", \.query.kind),
            .value("replay", \.query.replay), .value("since") { $0.query.since.map(StoredTime.init) },
            .value("until") { $0.query.until.map(StoredTime.init) }, .value("before", \.before),
            .value("limit", \.limit),
        ], returning: reader,
        """
        SELECT \(reader.names(of: "action")) FROM dead_letter_actions AS action
        WHERE action.number < $before
            AND ($who IS NULL OR action.who = $who)
            AND ($kind IS NULL OR action.action = $kind)
            AND ($replay IS NULL OR action.replay = $replay)
            AND ($kind IS NOT NULL OR action.replay IS NULL OR action.dead_letter_id IS NULL)
            AND ($since IS NULL OR action.at >= $since)
            AND ($until IS NULL OR action.at < $until)
        ORDER BY action.number DESC LIMIT $limit
        """)

    /// The matching actions, the last first.
    ///
    /// A replay is its beginning and its end; what it did with each letter is listed in the replay,
    /// and here if its kind is asked for.
    ///
    /// - Parameter number: the first action of the previous page's rest.
    package static func newest(
        _ query: DeadLetterActionQuery = DeadLetterActionQuery(), before number: Int64 = .max, limit: Int,
        on client: PostgresClient
    ) async throws -> [DeadLetterAction] { Array(try await client.run(ofAll, (query, number, limit))) }

    static let redacted = Statement<Void, String>(
        returning: RowReader("id"),
        "SELECT DISTINCT dead_letter_id AS id FROM dead_letter_actions WHERE action = 'redacted'")

    package static let redactedAmong = Statement<[String], String>(
        [.values("ids") { $0.map(StorableText.of) }], returning: RowReader("id"),
        """
        SELECT DISTINCT dead_letter_id AS id FROM dead_letter_actions
        WHERE action = 'redacted' AND dead_letter_id = ANY ($ids)
        """)

    package static func redacted(on client: PostgresClient) async throws -> Set<String> {
        Set(try await client.run(redacted))
    }
}
