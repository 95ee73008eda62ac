package import AppStore
package import Entitlements
import Postgres

/// All purchases of one original transaction ID, whatever the app: the unit of locking and reading.
///
/// Renewal info names no app, so the purchases that it applies to are found by this ID. In practice
/// there is one.
package struct PurchaseScope: Hashable, Sendable {
    package let environment: Environment
    package let originalTransactionID: Identifier

    package init(environment: Environment, originalTransactionID: Identifier) {
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }

    /// Hashes only the ID, which is hardly ever that of another environment too.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(originalTransactionID)
    }

    package func purchase(_ bundleID: Identifier) -> PurchaseKey {
        PurchaseKey(
            environment: environment,
            bundleID: bundleID,
            originalTransactionID: originalTransactionID
        )
    }

    static let columns: Columns<PurchaseScope> = [
        Column("environment", \.environment),
        Column("original_transaction_id", \.originalTransactionID),
    ]

    /// Reads a row with the same two columns.
    static let reader = RowReader(PurchaseScope.init, "environment", "original_transaction_id")

    /// Looks up the rows of a table by index, whatever the planner estimates: a plan made while the
    /// tables were small must not read them whole later.
    ///
    /// - Parameters:
    ///   - table: has the two columns, and an index that begins with the second.
    ///   - condition: on the row, which is named `known`; begins with `AND`.
    /// - Returns: `FROM` and `known`, for the scopes that a statement calls `asked`.
    static func lookUp(_ table: String, where condition: String = "") -> String {
        """
        FROM $asked
        CROSS JOIN LATERAL (
            SELECT * FROM \(table) AS known
            WHERE known.original_transaction_id = asked.original_transaction_id
              AND known.environment = asked.environment \(condition)
            OFFSET 0
        ) AS known
        """
    }

    /// Reads the rows of a table for all scopes asked for.
    static func read<Row>(
        _ reader: RowReader<Row>,
        from table: String
    ) -> Statement<[PurchaseScope], Row> {
        Statement(
            [.rows("asked", columns)],
            returning: reader,
            "SELECT \(reader.names(of: "known")) \(lookUp(table))"
        )
    }
}

extension PurchaseKey {
    package var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }

    /// The purchases of the Apple Account that this one belongs to.
    package func group(_ appTransactionID: Identifier) -> AppTransactionGroup {
        AppTransactionGroup(
            environment: environment,
            bundleID: bundleID,
            appTransactionID: appTransactionID
        )
    }

    static let columns: Columns<PurchaseKey> = [
        Column("original_transaction_id", \.originalTransactionID),
        Column("environment", \.environment),
        Column("bundle_id", \.bundleID),
    ]

    static let reader = RowReader<PurchaseKey>(
        { original, environment, bundleID in
            PurchaseKey(
                environment: environment,
                bundleID: bundleID,
                originalTransactionID: original
            )
        },
        "original_transaction_id",
        "environment",
        "bundle_id"
    )
}

extension RenewalKey {
    package var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }

    static let columns: Columns<RenewalKey> = [
        Column("original_transaction_id", \.originalTransactionID),
        Column("environment", \.environment),
        Column("trust", \.trust),
    ]

    static let reader = RowReader<RenewalKey>(
        { original, environment, trust in
            RenewalKey(environment: environment, originalTransactionID: original, trust: trust)
        },
        "original_transaction_id",
        "environment",
        "trust"
    )
}
