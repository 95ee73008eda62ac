package import AppStore
package import Entitlements
import Postgres

/// A row of `account_link_changes`: a link that was written, changed or removed.
package struct LinkChange: Sendable {
    package let id: Int64
    package let kind: String
    package let environment: String
    package let bundleID: Identifier
    package let key: Identifier
    /// Number of times that PostgreSQL has refused the purchase.
    package let attempts: Int

    /// Whether the change concerns only the purchases of one scope.
    package func isOnly(of scope: PurchaseScope) -> Bool {
        kind == LinkKind.originalTransactionID.rawValue && key == scope.originalTransactionID
            && environment == scope.environment.rawValue
    }
}

/// The table `account_link_changes`: triggers of `account_links` add rows.
///
/// `link-worker` removes them after it has determined the owners of the purchases again.
package enum LinkChangeTable {
    /// A purchase whose owner is determined again after a delay.
    package typealias Retry = (scope: PurchaseScope, attempts: Int, delay: Duration)

    package static let countMax = 200

    package static let oldest = Statement<Void, LinkChange>(
        returning: RowReader(LinkChange.init, "id", "kind", "environment", "bundle_id", "key", "attempts"),
        """
        SELECT id, kind, environment, bundle_id, key, attempts FROM account_link_changes
        WHERE due_at <= now() ORDER BY id LIMIT \(countMax)
        """)

    /// Whether a change of a link, or of an owner, is due.
    package static let isAnythingDue = Statement<Void, Bool>(
        returning: RowReader("is_due"),
        """
        SELECT EXISTS (SELECT FROM account_link_changes WHERE due_at <= now())
            OR \(OwnerChangeTable.isAnyDue) AS is_due
        """)

    package static let remove = Statement<[Int64], Void>(
        [.values("ids") { $0 }], "DELETE FROM account_link_changes WHERE id = ANY ($ids)")

    /// Schedules refused purchases for another attempt after a delay, each by a separate change.
    package static let retry = Statement<[Retry], Void>(
        [
            .rows(
                "refused",
                [
                    Column("environment", \.scope.environment), Column("key", \.scope.originalTransactionID),
                    Column("attempts", \.attempts), Column("delay_ms", \.delay.wholeMilliseconds),
                ])
        ],
        """
        INSERT INTO account_link_changes (kind, environment, bundle_id, key, attempts, due_at)
        SELECT 'original_transaction_id', environment, '', key, attempts,
               now() + delay_ms * interval '1 millisecond'
        FROM $refused
        """)

    /// The purchases that changes of links concern.
    package static let purchases = Statement<[LinkChange], PurchaseScope>(
        [
            .rows(
                "changed",
                [
                    Column("kind", \.kind), Column("environment", \.environment), Column("bundle_id", \.bundleID),
                    Column("key", \.key),
                ])
        ], returning: PurchaseScope.reader,
        """
        SELECT DISTINCT known.environment, known.original_transaction_id
        FROM $changed
        CROSS JOIN LATERAL (
            SELECT fact.environment, fact.bundle_id, fact.original_transaction_id
            FROM ownership_facts AS fact
            WHERE changed.kind = 'account_token' AND fact.account_token = changed.key
            UNION ALL
            SELECT fact.environment, NULL, fact.original_transaction_id
            FROM ownership_renewals AS fact
            WHERE changed.kind = 'account_token' AND fact.account_token = changed.key
            UNION ALL
            SELECT owner.environment, owner.bundle_id, owner.original_transaction_id
            FROM owners AS owner
            WHERE changed.kind = 'app_transaction_id' AND owner.app_transaction_id = changed.key
            UNION ALL
            SELECT owner.environment, owner.bundle_id, owner.original_transaction_id
            FROM owners AS owner
            WHERE changed.kind = 'original_transaction_id'
              AND owner.original_transaction_id = changed.key
        ) AS known
        WHERE changed.environment IN ('', known.environment)
          AND (changed.bundle_id IN ('', known.bundle_id) OR known.bundle_id IS NULL)
        """)

    /// Schedules the owners of all purchases to be determined again; returns the number of purchases.
    package static let addAll = Statement<Void, Int64>(
        returning: RowReader("purchases"), "SELECT reapply_ownership_rules() AS purchases")
}

/// The outstanding work of linking, for all copies of the worker.
package enum LinkBacklog {
    /// The purchases with outstanding work.
    package struct Purchases: Sendable {
        package let unownedCount: Int64
        /// Number of purchases not projected since their owner changed.
        package let unprojectedCount: Int64
        package let oldestUnprojectedSeconds: Double
    }

    /// Number of due changes of links, counted up to 100,000.
    package static let changes = Statement<Void, Int64>(
        returning: RowReader("count"),
        """
        SELECT count(*) FROM (
            SELECT FROM account_link_changes WHERE due_at <= now() LIMIT 100000
        ) AS waiting
        """)

    /// Numbers of purchases with outstanding work, each counted up to 100,000.
    package static let purchases = Statement<Void, Purchases>(
        returning: RowReader(Purchases.init, "unowned", "unprojected", "oldest_seconds"),
        """
        SELECT
            (SELECT count(*) FROM (
                SELECT FROM owners WHERE user_id IS NULL LIMIT 100000
            ) AS unowned) AS unowned,
            count(*) AS unprojected,
            coalesce(extract(epoch FROM now() - min(changed_at)), 0)::float8 AS oldest_seconds
        FROM (SELECT changed_at FROM owner_changes LIMIT 100000) AS waiting
        """)
}

/// The row of `linking_rules`: the rules of the `link-worker` that started last.
package enum LinkingRulesTable {
    /// Stores the rules; writes nothing if the same rules are stored.
    package static let write = Statement<OwnershipRules, Void>(
        [
            .rows(
                "new",
                [
                    Column("policy", \.policy), Column("tokens_are_user_ids", \.tokensAreUserIDs),
                    Column("trusts_ingestion", \.trustsIngestion), Column("moves_restored", \.movesRestored),
                ]
            ) { [$0] }
        ],
        """
        INSERT INTO linking_rules AS known ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (is_only) DO UPDATE SET
            policy = excluded.policy,
            tokens_are_user_ids = excluded.tokens_are_user_ids,
            trusts_ingestion = excluded.trusts_ingestion,
            moves_restored = excluded.moves_restored,
            since = now()
        WHERE (known.policy, known.tokens_are_user_ids, known.trusts_ingestion, known.moves_restored)
            <> (excluded.policy, excluded.tokens_are_user_ids, excluded.trusts_ingestion, excluded.moves_restored)
        """)

    /// The stored rules.
    ///
    /// `nil` if only a later program version has these rules.
    package static let read = Statement<Void, OwnershipRules?>(
        returning: RowReader(
            { (policy: String, tokensAreUserIDs: Bool, trustsIngestion: Bool, movesRestored: Bool) in
                OwnershipPolicy(rawValue: policy).map { policy in
                    OwnershipRules(
                        policy: policy, tokensAreUserIDs: tokensAreUserIDs, trustsIngestion: trustsIngestion,
                        movesRestored: movesRestored)
                }
            }, "policy", "tokens_are_user_ids", "trusts_ingestion", "moves_restored"),
        "SELECT policy, tokens_are_user_ids, trusts_ingestion, moves_restored FROM linking_rules")
}
