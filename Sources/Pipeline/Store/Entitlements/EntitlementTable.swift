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

    /// Writes rows; a stored row keeps its boundary unless the periods change.
    ///
    /// Finding a boundary costs half as much as the rest of the statement, so a row that an upsert inserts is due at
    /// once instead.
    package static let write = Upsert<Row>(
        into: "entitlements", key + content, onConflict: "(\(key.names())) DO UPDATE SET \(content.excluded)",
        upserting: ("next_boundary", "clock_timestamp()"))

    package static let remove = Statement<[Row], Void>(
        [.rows("gone", key)], "DELETE FROM entitlements AS held USING $gone WHERE \(key.equal("held", "gone"))")

    static let read = PurchaseScope.read(reader, from: "entitlements")
}

/// The stored terms; all are NULL for a grant.
extension EntitlementTerms: StoredValue {
    static let fields = Fields(
        EntitlementTerms.init, Field("ownership_type", \.ownershipType), Field("seats", \.seats),
        Field("additional_transaction_reason", \.additionalTransactionReason), Field(\.status))
}

extension SubscriptionStatus: StoredValue {
    static let fields = Fields(
        SubscriptionStatus.init, Field("will_renew", \.willRenew), Field("renews_to", \.renewsTo),
        Field("is_in_billing_retry", \.isInBillingRetry), Field("price_increase", \.priceIncrease),
        Field("expiration_reason", \.expirationReason), Field("grace", \.grace))
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
    package let periods: [PostgresPeriod]
    package let terms: EntitlementTerms

    /// The end of the last period, in UNIX milliseconds.
    ///
    /// `nil` if the entitlement never ends.
    package var end: Int64? { periods.last.flatMap(\.endMilliseconds) }

    fileprivate static let reader = RowReader(
        HeldEntitlement.init, "environment", "bundle_id", "original_transaction_id", "grant_id", "entitlement_key",
        "periods", EntitlementTerms.reader)
}

/// All entitlements of a user, in the tables `entitlements` and `grants`.
package struct HeldEntitlements: Sendable {
    package typealias Row = (userID: Identifier, asOf: StoredTime, held: HeldEntitlement?)

    /// The instant of PostgreSQL's clock at which the entitlements were read.
    package let asOf: StoredTime
    package let list: [HeldEntitlement]

    /// Groups the rows of a statement by user.
    package static func byUser(_ rows: some Sequence<Row>) -> [Identifier: HeldEntitlements] {
        Dictionary(grouping: rows, by: \.userID).mapValues { rows in
            HeldEntitlements(asOf: rows[0].asOf, list: rows.compactMap(\.held))
        }
    }

    package func filtered(by environment: String) -> HeldEntitlements {
        HeldEntitlements(asOf: asOf, list: list.filter { $0.environment == environment })
    }

    /// Reads at least one row for each user.
    package static let read = Statement<[Identifier], Row>(
        [.rows("asked", [Column("user_id", \.self)])], returning: reader, select(from: "$asked"))

    static let reader = RowReader<Row>({ ($0, $1, $2) }, "user_id", "as_of", HeldEntitlement.reader.unlessNull)

    private static let noTerms = EntitlementTerms.columns.names.map { _ in "NULL" }.joined(separator: ", ")

    /// - Parameter users: the SQL of a relation `asked` with a column `user_id`.
    static func select(from users: String) -> String {
        """
        SELECT asked.user_id, statement_timestamp() AS as_of, known.*
        FROM \(users)
        LEFT JOIN LATERAL (
            SELECT environment, bundle_id, original_transaction_id, NULL::int8 AS grant_id,
                   entitlement_key, periods, \(EntitlementTerms.columns.names())
            FROM entitlements AS held WHERE held.user_id = asked.user_id
            UNION ALL
            SELECT environment, NULL, NULL, grant_id, entitlement_key, periods, \(noTerms)
            FROM grants AS held WHERE held.user_id = asked.user_id AND NOT isempty(periods)
            OFFSET 0
        ) AS known ON true
        ORDER BY asked.user_id, known.environment, known.bundle_id,
            known.original_transaction_id, known.grant_id, known.entitlement_key
        """
    }
}

extension [PostgresPeriod] {
    /// The period that contains an instant.
    ///
    /// `nil` if none does.
    package func active(at instant: StoredTime) -> PostgresPeriod? { first { Period($0).contains(Timestamp(instant)) } }
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
