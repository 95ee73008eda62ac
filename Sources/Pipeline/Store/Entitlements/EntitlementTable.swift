package import AppStore
package import Entitlements
package import Postgres

/// The table `entitlements`: the periods of each purchase, entitlement key and user.
package enum EntitlementTable {
    package typealias Row = (purchase: PurchaseKey, row: EntitlementRow)

    private static let key: Columns<Row> =
        PurchaseKey.columns.of(\.purchase) + [Column("entitlement_key", \.row.key), Column("user_id", \.row.userID)]

    static let reader = RowReader<Row>(
        { (purchase: $0, row: $1) }, PurchaseKey.reader,
        RowReader(EntitlementRow.init, "entitlement_key", "user_id", "periods", EntitlementTerms.reader))

    private static let content: Columns<Row> =
        [Column("periods", \.row.periods)] + EntitlementTerms.columns.of(\.row.terms)

    package static let write = Upsert<Row>(
        into: "entitlements", key + content, onConflict: "(\(key.names())) DO UPDATE SET \(content.excluded)")

    package static let remove = Statement<[Row], Void>(
        [.rows("gone", key)], "DELETE FROM entitlements AS held USING $gone WHERE \(key.equal("held", "gone"))")

    static let read = PurchaseScope.read(reader, from: "entitlements")
}

/// The stored terms; all are NULL for a grant.
extension EntitlementTerms: StoredValue {
    static let fields = Fields(
        EntitlementTerms.init, Field("ownership_type", \.ownershipType), Field("seats", \.seats),
        Field("additional_transaction_reason", \.additionalTransactionReason))
}

/// An entitlement of a user: by a purchase, or by a manual grant.
package struct HeldEntitlement: Sendable {
    package let environment: String
    /// The app of the purchase.
    ///
    /// `nil` for a grant.
    package let bundleID: Identifier?
    /// The ID of the purchase.
    ///
    /// `nil` for a grant.
    package let originalTransactionID: Identifier?
    /// The number of the grant.
    ///
    /// `nil` for a purchase.
    package let grantID: Int64?
    package let key: Identifier
    package private(set) var periods: [PostgresPeriod]
    package let terms: EntitlementTerms

    /// Returns the entitlement with only its last periods.
    package func keeping(lastPeriods count: Int) -> HeldEntitlement {
        var kept = self
        kept.periods = Array(periods.suffix(count))
        return kept
    }

    /// The end of the last period, in UNIX milliseconds.
    ///
    /// `nil` if the entitlement never ends.
    package var end: Int64? { periods.last.flatMap(\.endMilliseconds) }

    fileprivate static let reader = RowReader(
        HeldEntitlement.init, "environment", "bundle_id", "original_transaction_id", "grant_id", "entitlement_key",
        "periods", EntitlementTerms.reader)
}

/// All entitlements of users, in the tables `entitlements` and `grants`.
package enum HeldEntitlements {
    package struct Row: Sendable {
        package let userID: Identifier
        package let held: HeldEntitlement
    }

    package static let read = Statement<[Identifier], Row>(
        [.rows("asked", [Column("user_id", \.self)])], returning: reader, select(from: "$asked"))

    static let reader = RowReader(Row.init, "user_id", HeldEntitlement.reader)

    /// - Parameter users: the SQL of a relation `asked` with a column `user_id`.
    static func select(from users: String) -> String {
        """
        SELECT asked.user_id, known.*
        FROM \(users)
        CROSS JOIN LATERAL (
            SELECT environment, bundle_id, original_transaction_id, NULL::int8 AS grant_id,
                   entitlement_key, periods, \(EntitlementTerms.columns.names())
            FROM entitlements AS held WHERE held.user_id = asked.user_id
            UNION ALL
            SELECT environment, NULL, NULL, grant_id, entitlement_key, periods, NULL, NULL, NULL
            FROM grants AS held WHERE held.user_id = asked.user_id AND NOT isempty(periods)
            OFFSET 0
        ) AS known
        ORDER BY asked.user_id, known.environment, known.bundle_id,
            known.original_transaction_id, known.grant_id, known.entitlement_key
        """
    }
}

/// The table `closed_periods`: the merged periods of a long subscription's oldest transactions.
///
/// The table lets a renewal read a few rows instead of hundreds.
///
/// The table may be emptied at any time.
package enum ClosedPeriodTable {
    package struct Row: Sendable, StoredValue {
        package let scope: PurchaseScope
        package let productID: Identifier
        package let bundleID: Identifier
        package let trust: Trust
        /// The upper bound of the closed transactions: the periods contain exactly those bought before.
        package let before: Timestamp
        package let periods: PeriodSet

        package init(
            scope: PurchaseScope, productID: Identifier, bundleID: Identifier, trust: Trust, before: Timestamp,
            periods: PeriodSet
        ) {
            self.scope = scope
            self.productID = productID
            self.bundleID = bundleID
            self.trust = trust
            self.before = before
            self.periods = periods
        }

        static let fields = Fields(
            Row.init, Field(\.scope), Field("product_id", \.productID), Field("bundle_id", \.bundleID),
            Field("trust", \.trust), Field("closed_before_ms", \.before), Field("periods", \.periods))
    }

    private static let terms = Row.columns.assignments(
        from: "excluded", except: "original_transaction_id", "environment", "product_id")

    package static let write = Statement<[Row], Void>(
        [.rows("new", Row.columns)],
        """
        INSERT INTO closed_periods ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (original_transaction_id, environment, product_id) DO UPDATE
        SET \(terms)
        """)

    package static let remove = Statement<[PurchaseScope], Void>(
        [.rows("gone", PurchaseScope.columns)],
        """
        DELETE FROM closed_periods AS closed USING $gone
        WHERE \(PurchaseScope.columns.equal("closed", "gone"))
        """)

    static let read = PurchaseScope.read(Row.reader, from: "closed_periods")
}
