import AppStore
package import Entitlements
import Postgres

/// The table `transactions`: the newest signed revision of each transaction, in each of its tracks.
package enum TransactionTable {
    /// A field of a given transaction that contradicts the table.
    package struct Contradiction: Sendable {
        /// The index of the transaction in the question.
        package let index: Int
        package let field: ImmutableField
    }

    static let key: Columns<TransactionFact> = [
        Column("transaction_id", \.key.transactionID), Column("environment", \.key.environment),
        Column("bundle_id", \.key.bundleID), Column("track", \.track),
    ]

    /// Columns that are immutable for an ID, except for the milliseconds of the purchase date.
    static let identity: Columns<TransactionFact> = [
        Column("original_transaction_id", \.identity.originalTransactionID), Column("product_id", \.identity.productID),
        Column("purchase_date_ms", \.identity.purchaseDate),
    ]

    /// Columns that are immutable once their value is known.
    static let lateIdentity: Columns<TransactionFact> = [
        Column("product_type", \.identity.type), Column("quantity", \.identity.quantity),
    ]

    /// Columns that a later signature may change.
    static let terms: Columns<TransactionFact> =
        Revision.columns.of { $0.revision } + [Column("trust", \.trust)]
        + Columns<TransactionMembers>.members.of { $0.value } + naming + revoking

    static let naming: Columns<TransactionFact> = OlderNaming.columns.of { $0.olderNaming }

    /// The columns of `TransactionMembers.revokingReceipt`.
    static let revoking: Columns<TransactionFact> = [
        Column("revoked_signed_date_ms", \.revokingReceipt?.signedDate),
        Column("revoked_content_hash", \.revokingReceipt?.contentHash),
    ]

    /// Raises facts to given revisions, which were compared with the stored ones under the purchases' locks.
    ///
    /// Skips a transaction that contradicts the stored row of its ID: the caller compares the
    /// number of affected rows with the number of facts. The stored rows of the same purchases were
    /// compared before. So a skipped ID belongs to another purchase, or its transaction lies in a
    /// closed period.
    package static let raise = Upsert<TransactionFact>(
        into: "transactions", key + identity + lateIdentity + terms,
        from: """
            SELECT * FROM $new
            WHERE \(reusesIDs("new")) OR (
                -- The ID may stand in another purchase, which was not read.
                SELECT other.original_transaction_id FROM transactions AS other
                WHERE other.transaction_id = new.transaction_id
                  AND other.environment = new.environment AND other.bundle_id = new.bundle_id
                  AND other.original_transaction_id <> new.original_transaction_id
                LIMIT 1
            ) IS NULL
            """,
        onConflict: """
            (transaction_id, environment, bundle_id, track) DO UPDATE
            SET \(identity.excluded), \(lateIdentity.excluded), \(terms.excluded)
            WHERE \(reusesIDs("known")) OR (\(isConflict("known", "excluded"))) IS NOT TRUE
            """)

    static func reusesIDs(_ row: String) -> String {
        let names = Environment.ofReusedIDs.map { "'\($0.rawValue)'" }.sorted()
        return "\(row).environment IN (\(names.joined(separator: ", ")))"
    }

    /// The conditions under which two rows contradict each other, as in `TransactionIdentity.conflict`.
    ///
    /// A condition is NULL if one row lacks the field.
    private static func conflicts(_ left: String, _ right: String) -> [(ImmutableField, String)] {
        let values: [(ImmutableField, (String) -> String)] = [
            (.originalTransactionID, { "\($0).original_transaction_id" }), (.productID, { "\($0).product_id" }),
            (.purchaseDate, { "floor(\($0).purchase_date_ms / 1000.0)" }), (.type, { "\($0).product_type" }),
            (.quantity, { "\($0).quantity" }),
        ]
        return values.map { ($0, "\($1(left)) <> \($1(right))") }
    }

    private static func isConflict(_ left: String, _ right: String) -> String {
        conflicts(left, right).map { $1 }.joined(separator: " OR ")
    }

    /// The transactions that contradict the stored rows of their IDs.
    package static let contradictions = Statement<[TransactionFact], Contradiction>(
        [.rows("asked", [.index] + key + identity + lateIdentity)],
        returning: RowReader(Contradiction.init, "index", "field"),
        """
        SELECT asked.index,
               CASE \(conflicts("known", "asked").map { "WHEN \($1) THEN '\($0.rawValue)'" }
                   .joined(separator: " ")) END AS field
        FROM $asked
        JOIN transactions AS known
            ON known.transaction_id = asked.transaction_id
            AND known.environment = asked.environment AND known.bundle_id = asked.bundle_id
            AND (
                known.track = asked.track
                OR known.original_transaction_id <> asked.original_transaction_id
            )
        WHERE NOT \(reusesIDs("known")) AND (\(isConflict("known", "asked")))
        """)

    /// The transactions of scopes, except those in closed periods.
    static let readOpen = Statement<[PurchaseScope], TransactionFact>(
        [.rows("asked", PurchaseScope.columns)], returning: reader,
        "SELECT \(reader.names(of: "known")) "
            + PurchaseScope.lookUp(
                "transactions",
                where: """
                    AND known.purchase_date_ms >= coalesce(
                        (
                            SELECT max(closed_before_ms) FROM closed_periods AS closed
                            WHERE closed.original_transaction_id = asked.original_transaction_id
                              AND closed.environment = asked.environment
                        ),
                        -9223372036854775808)
                    """))

    /// Reads a whole fact.
    static let reader = RowReader(
        TransactionMembers.init(common:productID:quantity:), TransactionMembers.commonReader, "product_id", "quantity"
    ).withMembers().map { TransactionFact($0) }
}

extension TransactionMembers {
    /// The receipt that stated a revocation.
    ///
    /// `nil` for a JWS, because its newest revision adds or lifts a revocation.
    var revokingReceipt: Revision? { track == .receipt ? revoking : nil }

    /// Reads the columns that all tables of transactions have; the product, the quantity and the
    /// declared members stay empty.
    static let commonReader = RowReader(
        TransactionMembers.init, PurchaseKey.reader, "transaction_id", "track", Revision.reader, "trust",
        "purchase_date_ms", "product_type", OlderNaming.reader, Revision.optionalReader("revoked"))

    /// - Parameter revoking: the value of `revokingReceipt`.
    private init(
        purchase: PurchaseKey, transactionID: Identifier, track: Track, revision: Revision, trust: Trust,
        purchaseDate: Timestamp, type: ProductType?, olderNaming: OlderNaming, revoking: Revision?
    ) {
        self.init(
            key: TransactionKey(
                environment: purchase.environment, bundleID: purchase.bundleID, transactionID: transactionID),
            track: track, revision: revision, trust: trust,
            identity: TransactionIdentity(
                originalTransactionID: purchase.originalTransactionID, productID: "", purchaseDate: purchaseDate,
                type: type))
        self.olderNaming = olderNaming
        olderRevoking = revoking == revision ? nil : revoking
    }

    fileprivate init(common: TransactionMembers, productID: Identifier, quantity: Int32?) {
        self = common
        identity.productID = productID
        identity.quantity = quantity
    }
}

extension Revision: StoredValue {
    static let fields = Fields(
        Revision.init, Field("signed_date_ms", \.signedDate), Field("content_hash", \.contentHash))
}
