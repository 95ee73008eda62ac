package import AppStore
import Postgres

/// A kind of questions to Apple's server about one app; kinds never wait for each other.
package struct RecoveryWork: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case missed, complete
        case subscriptions, transactions, refunds, order, finish, consumption
        case accountToken = "account_token"

        /// The job over the notification history.
        ///
        /// `nil` for questions about single purchases.
        package var job: RecoveryWindowTable.Job? { RecoveryWindowTable.Job(rawValue: rawValue) }
    }

    package let app: RecoveredApp
    package let kind: Kind

    package init(app: RecoveredApp, kind: Kind) {
        self.app = app
        self.kind = kind
    }

    /// The endpoint that the questions use.
    package var endpoint: RecoveryEndpoint { RecoveryEndpoint(app: app, kind: kind) }

    static let reader = RowReader(
        RecoveryWork.init, RecoveredApp.reader,
        RowReader<String>(stringLiteral: "work").map { Kind(rawValue: $0) ?? .missed })
}

/// An endpoint of Apple's server for one app; each has separate limits.
package struct RecoveryEndpoint: Hashable, Sendable {
    package let app: RecoveredApp
    /// The name: `notifications`, or the kind of questions.
    package let name: String

    init(app: RecoveredApp, name: String) {
        self.app = app
        self.name = name
    }

    package init(app: RecoveredApp, kind: RecoveryWork.Kind) { self.init(app: app, name: Self.name(of: kind)) }

    static func name(of kind: RecoveryWork.Kind) -> String { kind.job == nil ? kind.rawValue : "notifications" }

    /// All endpoints of an app.
    package static func all(of app: RecoveredApp) -> Set<RecoveryEndpoint> {
        Set(RecoveryWork.Kind.allCases.map { RecoveryEndpoint(app: app, kind: $0) })
    }
}

/// The table `recovery_limits`: the ends of the pauses that Apple's server has asked for.
package enum RecoveryLimitTable {
    package struct Limit: Sendable {
        package let endpoint: RecoveryEndpoint
        package let until: Timestamp

        package init(_ endpoint: RecoveryEndpoint, until: Timestamp) {
            self.endpoint = endpoint
            self.until = until
        }
    }

    /// Pauses an endpoint until an instant by Apple's clock; returns a row only if this extends the pause.
    package static let hold = Statement<Limit, Timestamp>(
        RecoveredApp.parameters { $0.endpoint.app } + [
            .value("endpoint", \.endpoint.name), .value("until_ms", \.until),
        ], returning: "until_ms",
        """
        INSERT INTO recovery_limits AS known (environment, bundle_id, endpoint, until_ms)
        VALUES ($environment, $bundle_id, $endpoint, $until_ms)
        ON CONFLICT (bundle_id, environment, endpoint) DO UPDATE
        SET until_ms = excluded.until_ms WHERE known.until_ms < excluded.until_ms
        RETURNING until_ms
        """)

    /// The pauses in force.
    package static let held = Statement<Timestamp, Limit>(
        [.value("now_ms")],
        returning: RowReader(
            { Limit(RecoveryEndpoint(app: $0, name: $1), until: $2) }, RecoveredApp.reader, "endpoint", "until_ms"),
        """
        SELECT environment, bundle_id, endpoint, until_ms FROM recovery_limits
        WHERE until_ms > $now_ms ORDER BY environment, bundle_id, endpoint
        """)

    /// Ends the pauses of an environment, or of one app if it is given.
    package static let lift = Statement<(environment: Environment, bundleID: Identifier?, now: Timestamp), Void>(
        [.value("environment", \.environment), .value("bundle_id", \.bundleID), .value("now_ms", \.now)],
        """
        DELETE FROM recovery_limits
        WHERE environment = $environment AND bundle_id = coalesce($bundle_id, bundle_id)
          AND until_ms > $now_ms
        """)

    /// The due work whose endpoint is not paused.
    package static let due = Statement<Timestamp, RecoveryWork>(
        [.value("now_ms")], returning: RecoveryWork.reader,
        """
        SELECT app.environment, app.bundle_id, given.work
        FROM (SELECT DISTINCT environment, bundle_id FROM recovery_windows) AS app
        CROSS JOIN (VALUES \(works)) AS given (work, endpoint)
        WHERE NOT EXISTS (
            SELECT FROM recovery_limits AS held
            WHERE held.bundle_id = app.bundle_id AND held.environment = app.environment
              AND held.endpoint = given.endpoint AND held.until_ms > $now_ms
          )
          AND (EXISTS (
            SELECT FROM recovery_windows AS run
            WHERE run.bundle_id = app.bundle_id AND run.environment = app.environment
              AND run.job = given.work AND run.due_at <= now()
              AND (run.slices_left = 0 OR EXISTS (
                SELECT FROM recovery_slices AS slice
                WHERE slice.bundle_id = run.bundle_id AND slice.environment = run.environment
                  AND slice.job = run.job AND slice.due_at <= now()
              ))
          ) OR EXISTS (
            SELECT FROM recovery_requests AS asked
            WHERE asked.bundle_id = app.bundle_id AND asked.environment = app.environment
              AND asked.kind = given.work AND asked.finished_at IS NULL AND asked.due_at <= now()
          ))
        """)

    private static let works = RecoveryWork.Kind.allCases.map { kind in
        "('\(kind.rawValue)', '\(RecoveryEndpoint.name(of: kind))')"
    }.joined(separator: ", ")
}
