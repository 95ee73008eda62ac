package import AppStore
package import Entitlements
import Postgres

/// All purchases of one original transaction ID in all apps: the unit of locking and reading.
///
/// Renewal info names no app, so its purchases are found by this ID. In practice there is one purchase.
package struct PurchaseScope: Hashable, Sendable, StoredValue {
    package let environment: Environment
    package let originalTransactionID: Identifier

    package init(environment: Environment, originalTransactionID: Identifier) {
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }

    package func purchase(_ bundleID: Identifier) -> PurchaseKey {
        PurchaseKey(environment: environment, bundleID: bundleID, originalTransactionID: originalTransactionID)
    }

    /// The position before all purchases.
    package static let start = PurchaseScope(environment: Environment(rawValue: ""), originalTransactionID: "")

    static let fields = Fields(
        PurchaseScope.init, Field("environment", \.environment),
        Field("original_transaction_id", \.originalTransactionID))

    /// Looks up the rows of a table by index, regardless of the planner's estimates.
    ///
    /// A plan made while the tables were small must not scan them when they are large.
    ///
    /// - Parameters:
    ///   - table: a table with the two columns, and an index that begins with the second.
    ///   - condition: SQL that begins with `AND`; the row is named `known`.
    /// - Returns: a `FROM` clause with the relation `known`, for the scopes of a relation `asked`.
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

    /// Reads the rows of a table for all given scopes.
    static func read<Row>(_ reader: RowReader<Row>, from table: String, where condition: String = "") -> Statement<
        [PurchaseScope], Row
    > {
        Statement(
            [.rows("asked", columns)], returning: reader,
            "SELECT \(reader.names(of: "known")) \(lookUp(table, where: condition))")
    }
}

extension PurchaseKey: StoredValue {
    package var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }

    /// The purchases of the Apple Account with this `appTransactionId`.
    package func group(_ appTransactionID: Identifier) -> AppTransactionGroup {
        AppTransactionGroup(environment: environment, bundleID: bundleID, appTransactionID: appTransactionID)
    }

    static let fields = Fields(
        { PurchaseKey(environment: $1, bundleID: $2, originalTransactionID: $0) },
        Field("original_transaction_id", \.originalTransactionID), Field("environment", \.environment),
        Field("bundle_id", \.bundleID))
}

extension RenewalKey: StoredValue {
    package var scope: PurchaseScope {
        PurchaseScope(environment: environment, originalTransactionID: originalTransactionID)
    }

    static let fields = Fields(
        { RenewalKey(environment: $1, originalTransactionID: $0, trust: $2) },
        Field("original_transaction_id", \.originalTransactionID), Field("environment", \.environment),
        Field("trust", \.trust))
}
