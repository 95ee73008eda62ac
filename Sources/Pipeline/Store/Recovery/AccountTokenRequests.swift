import AppStore
package import Entitlements
import Postgres

/// The requests of the kind `account_token`: one for each purchase, kept so that Apple gets its token once.
extension RecoveryRequestTable {
    /// Adds purchases whose owner no token of their own names; each waits a day, in which its owner has to stay.
    ///
    /// A purchase whose owner has changed is added again, and one that was left to another token once a link of
    /// the purchase itself decides. What Apple has refused is not asked again.
    package static let addTokens = Statement<RecoveredApp, Void>(
        RecoveredApp.parameters { $0 },
        """
        INSERT INTO recovery_requests AS known (environment, bundle_id, kind, subject, user_id, due_at)
        SELECT owner.environment, owner.bundle_id, 'account_token', owner.original_transaction_id,
               owner.user_id, now() + interval '1 day'
        FROM owners AS owner
        LEFT JOIN recovery_requests AS asked
            ON asked.subject = owner.original_transaction_id AND asked.kind = 'account_token'
            AND asked.environment = owner.environment AND asked.bundle_id = owner.bundle_id
        WHERE owner.environment = $environment AND owner.bundle_id = $bundle_id
          AND owner.rule NOT IN ('account_token', 'renewal_token')
          AND is_identifier(owner.original_transaction_id) AND is_identifier(owner.user_id)
          AND (asked.subject IS NULL
            OR asked.user_id <> owner.user_id
              AND coalesce(asked.result, 'done')
                NOT IN ('refused', 'not_found', 'family_shared', 'assigned')
            OR asked.result IN ('other_token', 'several_users')
              AND owner.rule = 'original_transaction_link')
        ON CONFLICT (subject, kind, environment, bundle_id) DO UPDATE
        SET user_id = excluded.user_id, requested_at = now(), due_at = excluded.due_at,
            finished_at = NULL, result = NULL
        """)

    /// Removes what waits for apps whose tokens are not set any more.
    ///
    /// The input is the apps whose tokens are set.
    package static let withdrawTokens = Statement<[RecoveredApp], Void>(
        [.rows("given", [Column("environment", \.environment), Column("bundle_id", \.bundleID)])],
        """
        DELETE FROM recovery_requests AS asked
        WHERE kind = 'account_token' AND finished_at IS NULL AND NOT EXISTS (
            SELECT FROM $given
            WHERE given.bundle_id = asked.bundle_id AND given.environment = asked.environment
        )
        """)

    /// Returns the token to set, which is a link from then on; `nil` if the request has ended or waits.
    package static let tokenToSet = Statement<Request, String?>(
        RecoveredApp.parameters { $0.app } + [.value("subject", \.subject), .value("user_id", \.userID)],
        returning: "token", "SELECT account_token_to_set($environment, $bundle_id, $subject, $user_id) AS token")

    /// The numbers of purchases by result; those without one are `waiting`.
    package static let tokenCounts = Statement<Void, (result: String, count: Int64)>(
        returning: RowReader({ ($0, $1) }, "result", "count"),
        """
        SELECT coalesce(result, 'waiting') AS result, count(*) AS count
        FROM recovery_requests WHERE kind = 'account_token' GROUP BY 1 ORDER BY 1
        """)

    /// The state of one purchase's token at Apple.
    package struct TokenState: Sendable {
        package let purchase: PurchaseKey
        package let result: String
        /// The time of the result; of a purchase that is `waiting`, the time of the next request.
        package let at: StoredTime
    }

    package static let tokenStates = Statement<[PurchaseKey], TokenState>(
        [.rows("asked", PurchaseKey.columns)],
        returning: RowReader(TokenState.init, PurchaseKey.reader, "result", "at"),
        """
        SELECT \(PurchaseKey.columns.names(of: "asked")), coalesce(known.result, 'waiting') AS result,
               coalesce(known.finished_at, known.due_at) AS at
        FROM $asked JOIN recovery_requests AS known
            ON known.subject = asked.original_transaction_id AND known.kind = 'account_token'
            AND known.environment = asked.environment AND known.bundle_id = asked.bundle_id
        """)
}
