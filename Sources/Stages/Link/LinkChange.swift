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

    /// How many are taken up at once.
    static let countMax = 200

    static let oldest = PostgresStatement(
        """
        SELECT id, kind, environment, bundle_id, key FROM account_link_changes
        ORDER BY id LIMIT \(countMax)
        """
    )

    /// The columns of `oldest`.
    init(_ row: PostgresRow) {
        id = row.int8(0)
        kind = row.text(1)
        environment = row.text(2)
        bundleID = row.text(3)
        key = row.text(4)
    }

    /// Forgets changes that are applied.
    static func applied(_ changes: [LinkChange]) -> PostgresStatement {
        PostgresStatement(
            "DELETE FROM account_link_changes WHERE id = ANY ($1::int8[])",
            [.int8Array(changes.map(\.id))]
        )
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
