import AppStore
import Entitlements
import Postgres

/// A row of `account_link_changes`: a link that was written, changed or removed.
struct LinkChange {
    let id: Int64
    let kind: String
    let environment: String
    let bundleID: String
    let key: String
    /// How often its purchase has been refused.
    let attempts: Int

    /// How many are taken up at once.
    static let countMax = 200

    static let oldest = PostgresStatement(
        """
        SELECT id, kind, environment, bundle_id, key, attempts::int8 FROM account_link_changes
        WHERE due_at <= now() ORDER BY id LIMIT \(countMax)
        """
    )

    static let isAnyDue = "EXISTS (SELECT FROM account_link_changes WHERE due_at <= now())"

    /// The columns of `oldest`.
    init(_ row: PostgresRow) {
        id = row.int8(0)
        kind = row.text(1)
        environment = row.text(2)
        bundleID = row.text(3)
        key = row.text(4)
        attempts = Int(row.int8(5))
    }

    /// Forgets changes that are applied.
    static func applied(_ changes: [LinkChange]) -> PostgresStatement {
        PostgresStatement(
            "DELETE FROM account_link_changes WHERE id = ANY ($1::int8[])",
            [.int8Array(changes.map(\.id))]
        )
    }

    /// Has purchases that were refused judged again after a while, each by a change of its own.
    ///
    /// - Parameter changes: those that they were judged for.
    static func again(_ refused: [PurchaseScope], of changes: [LinkChange]) -> PostgresStatement {
        var environments = PostgresArray(of: .text)
        var keys = PostgresArray(of: .text)
        var attempts = PostgresArray(of: .int8)
        var delays = PostgresArray(of: .int8)
        for scope in refused {
            let former = changes.filter { $0.isOnly(of: scope) }.map(\.attempts).max() ?? 0
            let delay = OwnerChanges.resendDelay(afterSends: former + 1)
            environments.append(scope.environment.rawValue)
            keys.append(scope.originalTransactionID)
            attempts.append(Int64(former + 1))
            delays.append(delay.wholeMilliseconds)
        }
        return PostgresStatement(
            """
            INSERT INTO account_link_changes (kind, environment, bundle_id, key, attempts, due_at)
            SELECT 'original_transaction_id', environment, '', key, attempts,
                   now() + delay_ms * interval '1 millisecond'
            FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[])
                AS refused (environment, key, attempts, delay_ms)
            """,
            [environments, keys, attempts, delays].map { .array($0) }
        )
    }

    private func isOnly(of scope: PurchaseScope) -> Bool {
        kind == "original_transaction_id" && key == scope.originalTransactionID
            && environment == scope.environment.rawValue
    }

    /// Asks for the purchases concerned: environment, bundle ID or null, original transaction ID.
    static func purchases(of changes: [LinkChange]) -> PostgresStatement {
        PostgresStatement(
            findPurchases,
            [
                .textArray(changes.map(\.kind)), .textArray(changes.map(\.environment)),
                .textArray(changes.map(\.bundleID)), .textArray(changes.map(\.key)),
            ]
        )
    }

    private static let findPurchases = """
        SELECT DISTINCT known.environment, known.original_transaction_id
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
             AS changed (kind, environment, bundle_id, key)
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
        """

    static func scopes(_ rows: PostgresRows) -> [PurchaseScope] {
        rows.map { row in
            PurchaseScope(
                environment: Environment(rawValue: row.text(0)),
                originalTransactionID: row.text(1)
            )
        }
    }
}
