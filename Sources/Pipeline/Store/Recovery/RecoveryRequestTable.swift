package import AppStore
import Postgres

/// The table `recovery_requests`: questions to Apple about single purchases and orders.
package enum RecoveryRequestTable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The status of a customer's subscriptions, by any of the customer's transaction IDs.
        case subscriptions
        /// Every transaction of the customer in the app.
        case transactions
        case refunds
        /// The transactions of an order, by the ID in the customer's receipt.
        case order
        /// The message to Apple that the purchase was delivered.
        case finish
        /// The account token of its owner for a purchase, by its original transaction ID.
        case accountToken = "account_token"
        /// The answer to a refund request, by the UUID of Apple's notification.
        case consumption
    }

    package struct Request: Hashable, Identifiable, Sendable {
        package let app: RecoveredApp
        package let kind: Kind
        package let subject: Identifier
        /// The cursor of a history.
        ///
        /// `nil` before its first page.
        package let revision: String?
        /// The owner whose token is set.
        ///
        /// `nil` for the other kinds.
        package let userID: Identifier?

        package init(
            app: RecoveredApp, kind: Kind, subject: Identifier, revision: String? = nil, userID: Identifier? = nil
        ) {
            self.app = app
            self.kind = kind
            self.subject = subject
            self.revision = revision
            self.userID = userID
        }

        /// The ID, unique among an app's questions of one kind.
        package var id: Identifier { subject }

        fileprivate static let reader = RowReader(
            Request.init, RecoveredApp.reader,
            RowReader<String>(stringLiteral: "kind").map { Kind(rawValue: $0) ?? .subscriptions }, "subject",
            "revision", "user_id")

        static let columns: Columns<Request> = [
            Column("environment", \.app.environment), Column("bundle_id", \.app.bundleID),
            Column("kind", \.kind.rawValue), Column("subject", \.subject),
        ]
    }

    package enum Result: String, Sendable {
        case done, refused
        case notFound = "not_found"
        /// The purchase came by Family Sharing, or by a seat that somebody else has paid.
        case familyShared = "family_shared", assigned
    }

    /// Adds questions; an answered question is asked again.
    ///
    /// The given keys must be distinct.
    package static let add = Statement<[Request], Void>(
        [.rows("asked", Request.columns)],
        """
        INSERT INTO recovery_requests AS known ($asked.columns)
        SELECT * FROM $asked ORDER BY subject, kind, environment, bundle_id
        ON CONFLICT (subject, kind, environment, bundle_id) DO UPDATE
        SET \(again)
        WHERE known.finished_at IS NOT NULL
        """)

    /// The assignments by which a stored question is asked from its beginning.
    static let again = """
        requested_at = now(), due_at = now(), finished_at = NULL, result = NULL,
            revision = NULL, published_count = 0
        """

    /// Adds questions about subscriptions that should have renewed but have no newer transaction.
    ///
    /// The newest come first, so that the many for which Apple has nothing new do not delay them. A
    /// subscription in billing retry, which lasts at most 60 days, is not stale. A subscription
    /// with a stored question is skipped until that question is pruned.
    ///
    /// - Parameter before: the exclusive upper bound of the renewal dates to ask about.
    package static let addStale = Statement<(app: RecoveredApp, before: Timestamp, countMax: Int), Void>(
        RecoveredApp.parameters { $0.app } + [.value("before_ms", \.before), .value("count_max", \.countMax)],
        """
        INSERT INTO recovery_requests (environment, bundle_id, kind, subject)
        SELECT $environment, $bundle_id, 'subscriptions', stale.original_transaction_id
        FROM renewals AS stale
        WHERE stale.environment = $environment AND stale.auto_renew_status = 1
          AND stale.renewal_date_ms < $before_ms
          AND (stale.is_in_billing_retry IS NOT TRUE
            OR stale.renewal_date_ms < $before_ms - 60 * 86400000::bigint)
          AND coalesce(stale.grace_period_expires_date_ms, 0) < $before_ms
          AND is_identifier(stale.original_transaction_id)
          AND EXISTS (
            SELECT FROM transactions AS held
            WHERE held.original_transaction_id = stale.original_transaction_id
              AND held.environment = $environment AND held.bundle_id = $bundle_id
          )
          AND NOT EXISTS (
            SELECT FROM transactions AS newer
            WHERE newer.original_transaction_id = stale.original_transaction_id
              AND newer.environment = $environment
              AND (newer.purchase_date_ms >= stale.renewal_date_ms
                OR newer.revocation_date_ms IS NOT NULL AND newer.expires_date_ms IS NULL)
          )
          AND NOT EXISTS (
            SELECT FROM recovery_requests AS asked
            WHERE asked.subject = stale.original_transaction_id AND asked.kind = 'subscriptions'
              AND asked.environment = $environment AND asked.bundle_id = $bundle_id
          )
        ORDER BY stale.renewal_date_ms DESC LIMIT $count_max
        ON CONFLICT DO NOTHING
        """)

    /// Maximum questions of a kind that are read at once.
    package static let dueMax = 32

    /// The due questions of a kind.
    package static let due = Statement<(app: RecoveredApp, kind: Kind), Request>(
        RecoveredApp.parameters { $0.app } + [.value("kind", \.kind.rawValue)], returning: Request.reader,
        """
        SELECT environment, bundle_id, kind, subject, revision, user_id FROM recovery_requests
        WHERE environment = $environment AND bundle_id = $bundle_id
          AND kind = $kind AND finished_at IS NULL AND due_at <= now()
        ORDER BY due_at LIMIT \(dueMax)
        """)

    /// Delays finishing a purchase that has no owner, or is not yet projected for its newest owner.
    ///
    /// Each delay is longer, because this state may never end.
    ///
    /// Returns a row if the purchase has to wait.
    package static let awaitOwner = Statement<Request, Bool>(
        ofRequest { $0 }, returning: RowReader("is_to_wait"),
        """
        UPDATE recovery_requests
        SET due_at = now() + least(greatest(now() - requested_at, '1 minute'), '1 day')
        WHERE \(isRequest) AND NOT EXISTS (
            SELECT FROM transactions AS fact
            JOIN owners AS owner
                ON owner.original_transaction_id = fact.original_transaction_id
                AND owner.environment = fact.environment AND owner.bundle_id = fact.bundle_id
            WHERE fact.transaction_id = $subject AND fact.environment = $environment
              AND fact.bundle_id = $bundle_id AND owner.user_id IS NOT NULL
              AND NOT EXISTS (
                SELECT FROM owner_changes AS change
                WHERE change.original_transaction_id = owner.original_transaction_id
                  AND change.environment = owner.environment
                  AND change.bundle_id = owner.bundle_id
              )
        )
        RETURNING true AS is_to_wait
        """)

    /// Advances the cursor of a history after its page is published.
    package static let advance = Statement<(request: Request, revision: String?, published: Int), Void>(
        ofRequest { $0.request } + [.value("revision", \.revision), .value("published", \.published)],
        """
        UPDATE recovery_requests
        SET revision = $revision, published_count = published_count + $published
        WHERE \(isRequest)
        """)

    package static let finish = Statement<(request: Request, result: Result, published: Int), Void>(
        ofRequest { $0.request } + [.value("result", \.result.rawValue), .value("published", \.published)],
        """
        UPDATE recovery_requests
        SET finished_at = now(), result = $result, published_count = published_count + $published
        WHERE \(isRequest)
        """)

    /// Delays the repetition of a question, each time for longer; an answer that Apple waits for only shortly.
    package static let delay = Statement<Request, Void>(
        ofRequest { $0 },
        """
        UPDATE recovery_requests
        SET due_at = now() + least(greatest(now() - requested_at, '1 minute'),
            CASE kind WHEN 'consumption' THEN interval '5 minutes' ELSE '1 hour' END)
        WHERE \(isRequest)
        """)

    /// Deletes answered questions; an import's are kept for 180 days, for its report.
    package static let prune = Statement<(app: RecoveredApp, before: Timestamp), Void>(
        RecoveredApp.parameters { $0.app } + [.value("before_ms", \.before)],
        """
        DELETE FROM recovery_requests
        WHERE environment = $environment AND bundle_id = $bundle_id
          AND finished_at < timestamptz_from_ms($before_ms) AND kind <> 'account_token'
          AND (imported_at IS NULL OR imported_at < now() - interval '180 days')
        """)

    static let isRequest = """
        environment = $environment AND bundle_id = $bundle_id AND kind = $kind
          AND subject = $subject AND user_id IS NOT DISTINCT FROM $user_id
        """

    static func ofRequest<Input>(_ request: @escaping @Sendable (Input) -> Request) -> [Parameter<Input>] {
        RecoveredApp.parameters { request($0).app } + [
            .value("kind") { request($0).kind.rawValue }, .value("subject") { request($0).subject },
            .value("user_id") { request($0).userID },
        ]
    }

    /// The state of a question, for the operator who asked it.
    package struct State: Sendable {
        package let request: Request
        package let published: Int64
        /// The result of the question.
        ///
        /// `nil` while the question is not answered.
        package let result: String?
    }

    package static let states = Statement<[Request], State>(
        [.rows("asked", Request.columns)],
        returning: RowReader(State.init, Request.reader, "published_count", "result"),
        """
        SELECT known.environment, known.bundle_id, known.kind, known.subject,
               NULL::text AS revision, known.user_id, known.published_count, known.result
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM recovery_requests AS known
            WHERE \(Request.columns.equal("known", "asked"))
            OFFSET 0
        ) AS known
        ORDER BY known.environment, known.bundle_id, known.kind, known.subject
        """)

    /// Numbers of waiting questions and of questions that failed for good, by kind.
    package static let counts = Statement<Void, (kind: String, waiting: Int64, unfinished: Int64)>(
        returning: RowReader({ ($0, $1, $2) }, "kind", "waiting", "unfinished"),
        """
        SELECT kind, count(*) FILTER (WHERE finished_at IS NULL) AS waiting,
               count(*) FILTER (WHERE \(isUnfinished)) AS unfinished
        FROM recovery_requests WHERE finished_at IS NULL OR \(isUnfinished)
        GROUP BY kind
        """)

    /// The condition that Apple has refused a question for good within the last week.
    ///
    /// An unknown purchase is an answer, but the purchase cannot be finished. The index
    /// `recovery_requests_unfinished` has the same condition without the week.
    private static let isUnfinished = """
        kind <> 'account_token' AND (result = 'refused' OR kind = 'finish' AND result <> 'done')
            AND finished_at > now() - interval '7 days'
        """

    /// The questions of an environment that failed for good.
    package static let unfinished = Statement<(environment: Environment, bundleID: Identifier?), Request>(
        [.value("environment", \.environment), .value("bundle_id", \.bundleID)], returning: Request.reader,
        """
        SELECT environment, bundle_id, kind, subject, NULL::text AS revision, user_id
        FROM recovery_requests
        WHERE environment = $environment AND bundle_id = coalesce($bundle_id, bundle_id)
          AND \(isUnfinished)
        ORDER BY bundle_id, kind, subject
        """)
}
