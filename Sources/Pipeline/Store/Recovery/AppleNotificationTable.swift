package import AppStore
import Postgres

/// The table `apple_notifications`: the notifications that Apple's server lists, and their outcomes here.
package enum AppleNotificationTable {
    /// A listed notification, before its verification.
    package typealias Listed = (uuid: Identifier, type: String, signedDate: Timestamp)

    package enum Outcome: String, Sendable {
        case held, ignored
        case deadLettered = "dead_lettered"
    }

    package struct Judged: Sendable {
        package let uuid: Identifier
        /// Whether the notification is listed for the first time.
        package let isNew: Bool
        /// Whether the notification must be published: it is neither held nor on its way.
        package let isMissing: Bool
        /// A random secret for this notification.
        package let nonce: String
    }

    /// Time for which a published notification counts as on its way; then it is published again.
    package static let onItsWayMax = Duration.seconds(3600)

    private static func isRecent(_ time: String) -> String {
        "\(time) > now() - interval '\(onItsWayMax.components.seconds) s'"
    }

    /// The condition that a notification is on its way.
    ///
    /// A repeated publication does not renew that time, so a stopped pipeline is noticed.
    ///
    /// The previous program version stores only the time of the last publication.
    static let onItsWay = isRecent("coalesce(first_published_at, published_at)")

    /// Records listed notifications and returns the new or missing ones.
    ///
    /// The given UUIDs must be distinct.
    ///
    /// An unchanged row is not written.
    package static let list = Statement<(app: RecoveredApp, listed: [Listed]), Judged>(
        RecoveredApp.parameters { $0.app } + [
            .rows(
                "listed", [Column("uuid", \.uuid), Column("type", \.type), Column("signed_date_ms", \.signedDate)],
                \.listed)
        ], returning: RowReader(Judged.init, "uuid", "is_new", "is_missing", "nonce"),
        """
        WITH given AS MATERIALIZED (
            SELECT listed.*, held.uuid IS NOT NULL AS is_held, known.uuid IS NOT NULL AS is_known,
                   known.outcome, known.nonce, known.published_at
            FROM $listed
            LEFT JOIN LATERAL (
                SELECT uuid FROM notifications AS held
                WHERE held.uuid = listed.uuid AND held.environment = $environment
                OFFSET 0
            ) AS held ON true
            LEFT JOIN LATERAL (
                SELECT uuid, outcome, nonce, published_at FROM apple_notifications AS known
                WHERE known.uuid = listed.uuid AND known.environment = $environment
                OFFSET 0
            ) AS known ON true
        ),
        added AS (
            INSERT INTO apple_notifications (
                environment, bundle_id, uuid, type, signed_date_ms, outcome)
            SELECT $environment, $bundle_id, uuid, type, signed_date_ms,
                   CASE WHEN is_held THEN 'held' END
            FROM given WHERE NOT is_known
            ON CONFLICT DO NOTHING
            RETURNING uuid, outcome, nonce
        ),
        settled AS (
            UPDATE apple_notifications AS known SET outcome = 'held'
            FROM given
            WHERE given.is_held AND given.outcome IS DISTINCT FROM 'held'
              AND known.uuid = given.uuid AND known.environment = $environment
        )
        SELECT uuid, true AS is_new, outcome IS NULL AS is_missing, nonce::text AS nonce FROM added
        UNION ALL
        SELECT uuid, false, true, nonce::text FROM given
        WHERE is_known AND NOT is_held AND outcome IS NULL
          AND coalesce(NOT \(isRecent("published_at")), true)
        """)

    package static let published = Statement<(environment: Environment, uuids: [Identifier]), Void>(
        [.value("environment", \.environment), .values("uuids", \.uuids)],
        """
        UPDATE apple_notifications
        SET published_at = now(), first_published_at = coalesce(first_published_at, now())
        WHERE environment = $environment AND uuid = ANY ($uuids)
        """)

    /// The pipeline's outcome of a notification's record.
    package typealias Answer = (environment: Environment, uuid: Identifier, nonce: String, outcome: Outcome)

    /// Records outcomes.
    ///
    /// The outcome `held` is final, and an outcome with another nonce is ignored.
    package static let settle = Statement<[Answer], Void>(
        [
            .rows(
                "given",
                [
                    Column("environment", \.environment), Column("uuid", \.uuid), Column("nonce", \.nonce),
                    Column("outcome", \.outcome.rawValue),
                ])
        ],
        """
        UPDATE apple_notifications AS known SET outcome = given.outcome
        FROM $given
        WHERE known.uuid = given.uuid AND known.environment = given.environment
          AND known.nonce::text = given.nonce AND known.outcome IS DISTINCT FROM 'held'
        """)

    /// Deletes notifications that Apple's server no longer lists.
    package static let prune = Statement<(app: RecoveredApp, before: Timestamp), Void>(
        RecoveredApp.parameters { $0.app } + [.value("before_ms", \.before)],
        """
        DELETE FROM apple_notifications
        WHERE environment = $environment AND bundle_id = $bundle_id
          AND signed_date_ms < $before_ms
        """)
}

/// A comparison of Apple's notifications with the stored ones.
package enum AppleAccountTable {
    /// Numbers of notifications of one type, by state.
    package struct Count: Sendable {
        package let app: RecoveredApp
        package let type: String
        package let listed: Int64
        package let held: Int64
        package let ignored: Int64
        package let deadLettered: Int64
        package let onItsWay: Int64
        /// Number of listed notifications without an outcome that are neither held nor on their way.
        package let missing: Int64
    }

    /// Counts of notifications signed since an instant, by app and type.
    package static let counts = Statement<Timestamp, Count>(
        [.value("since_ms")],
        returning: RowReader(
            Count.init, RecoveredApp.reader, "type", "listed", "held", "ignored", "dead_lettered", "on_its_way",
            "missing"),
        """
        SELECT environment, bundle_id, type,
               count(*) AS listed,
               count(*) FILTER (WHERE state = 'held') AS held,
               count(*) FILTER (WHERE state = 'ignored') AS ignored,
               count(*) FILTER (WHERE state = 'dead_lettered') AS dead_lettered,
               count(*) FILTER (WHERE state = 'on_its_way') AS on_its_way,
               count(*) FILTER (WHERE state = 'missing') AS missing
        FROM (
            SELECT environment, bundle_id, type, \(state) AS state
            FROM apple_notifications AS known
            WHERE signed_date_ms >= $since_ms AND \(isAsked)
        ) AS known
        GROUP BY environment, bundle_id, type
        ORDER BY environment, bundle_id, type
        """)

    package struct Missing: Sendable {
        package let app: RecoveredApp
        package let uuid: Identifier
        package let type: String
        package let signedDate: Timestamp
        /// The time of the last publication.
        ///
        /// `nil` if it was never published.
        package let publishedAt: Timestamp?
    }

    package static let missingMax = 1_000

    /// The oldest missing notifications.
    package static let missing = Statement<Timestamp, Missing>(
        [.value("since_ms")],
        returning: RowReader(
            Missing.init, RecoveredApp.reader, "uuid", "type", "signed_date_ms",
            RowReader<StoredTime?>("published_at").map { $0.map { Timestamp($0) } }),
        """
        SELECT environment, bundle_id, uuid, type, signed_date_ms, published_at
        FROM apple_notifications AS known
        WHERE signed_date_ms >= $since_ms AND outcome IS NULL AND \(isAsked)
          AND \(state) = 'missing'
        ORDER BY signed_date_ms, uuid LIMIT \(missingMax)
        """)

    /// The condition that recovery still covers the app.
    private static let isAsked = """
        EXISTS (
            SELECT FROM recovery_windows AS asked
            WHERE asked.bundle_id = known.bundle_id AND asked.environment = known.environment
        )
        """

    /// The state of a notification; a stored one is held, however it arrived.
    private static let state = """
        CASE WHEN outcome IS NOT NULL THEN outcome
             WHEN EXISTS (
                SELECT FROM notifications AS held
                WHERE held.uuid = known.uuid AND held.environment = known.environment
             ) THEN 'held'
             WHEN \(AppleNotificationTable.onItsWay) THEN 'on_its_way'
             ELSE 'missing' END
        """

    /// Notifications with an unknown outcome, for the metrics.
    package struct Open: Sendable {
        package let count: Int64
        /// The age of the oldest notification in seconds; 0 without one.
        package let oldestSeconds: Double
    }

    package static let open = Statement<Void, Open>(
        returning: RowReader(Open.init, "count", "oldest_seconds"),
        """
        SELECT count(*) AS count,
               coalesce(greatest(extract(
                   epoch FROM now() - timestamptz_from_ms(min(signed_date_ms))), 0), 0)::float8
                   AS oldest_seconds
        FROM apple_notifications AS known WHERE outcome IS NULL AND \(isAsked)
        """)
}
