import AppStore
import Postgres

/// The row of `catalog_projection`: by which catalog all rows are projected, and how far those of a
/// later one have come.
struct ReprojectionProgress {
    /// All rows follow from this catalog, or from a later one where that makes a difference.
    let version: Int64
    /// The catalog that is being worked through; nil between two.
    let target: Int64?
    /// The last purchase that was looked at.
    let after: PurchaseScope
    /// The catalog that holds; 0 where there is none.
    let newest: Int64

    static let read = PostgresStatement(
        """
        SELECT version::int8, target::int8, after_original_transaction_id, after_environment,
               (SELECT coalesce(max(version), 0)::int8 FROM catalog_versions)
        FROM catalog_projection WHERE is_only
        """
    )

    /// The columns of `read`.
    init(_ row: PostgresRow) {
        version = row.int8(0)
        target = row.optionalInt8(1)
        after = PurchaseScope(
            environment: Environment(rawValue: row.text(3)),
            originalTransactionID: row.text(2)
        )
        newest = row.int8(4)
    }

    var isLeftToDo: Bool { target != nil || version < newest }

    static func begin(_ target: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE catalog_projection SET target = $1::int8, after_original_transaction_id = '',
                after_environment = ''
            WHERE is_only
            """,
            [.int8(target)]
        )
    }

    static func reached(_ scope: PurchaseScope) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE catalog_projection SET after_original_transaction_id = $1::text,
                after_environment = $2::text
            WHERE is_only
            """,
            [.text(scope.originalTransactionID), .text(scope.environment.rawValue)]
        )
    }

    static let finish = PostgresStatement(
        """
        UPDATE catalog_projection SET version = target, target = NULL,
            after_original_transaction_id = '', after_environment = ''
        WHERE is_only
        """
    )
}
