package import AppStore
package import Entitlements
package import Records
import Postgres

/// Support staff's view of purchases in one environment, by user or by transaction ID.
package struct PurchaseDetails: Sendable {
    /// The user or transaction in question.
    package struct Subject: Sendable {
        /// A user's ID, or a transaction's.
        package let id: Identifier
        package let environment: String

        package init(id: Identifier, environment: String) {
            self.id = id
            self.environment = environment
        }

        static let parameters: [Parameter<Subject>] = [.value("subject", \.id), .value("environment", \.environment)]
    }

    /// A transaction, with one of its signed contents.
    package struct SignedTransaction: Sendable {
        package let fact: TransactionFact
        package let source: ContentSource?
    }

    package struct Renewal: Sendable {
        package let purchase: PurchaseKey
        package let fact: RenewalFact
        package let source: ContentSource?
    }

    package let owners: Statement<Subject, OwnerTable.Row>
    package let held: Statement<Subject, EntitlementTable.Row>
    package let transactions: Statement<Subject, SignedTransaction>
    package let renewals: Statement<Subject, Renewal>
    package let credits: Statement<Subject, LedgerTable.Row>

    /// Every purchase that ever granted a user something, or credited their ledger; only with the
    /// user's own rows.
    package static let ofUser = PurchaseDetails(theirs: grantedToUser, ofUser: "AND held.user_id = $subject")

    static let grantedToUser = """
        (
            SELECT bundle_id, original_transaction_id FROM entitlements
            WHERE user_id = $subject AND environment = $environment
            UNION
            SELECT bundle_id, original_transaction_id FROM changes
            WHERE user_id = $subject AND environment = $environment AND grant_id IS NULL
            UNION
            SELECT bundle_id, original_transaction_id FROM ledger
            WHERE user_id = $subject AND environment = $environment
        ) AS theirs
        """

    /// The purchase of a transaction, by its ID or the original transaction ID; with the rows of
    /// all users.
    package static let ofTransaction = PurchaseDetails(theirs: behindTransaction, ofUser: "")

    static let behindTransaction = """
        (
            SELECT bundle_id, original_transaction_id FROM transactions
            WHERE transaction_id = $subject AND environment = $environment
            UNION
            SELECT bundle_id, original_transaction_id FROM transactions
            WHERE original_transaction_id = $subject AND environment = $environment
        ) AS theirs
        """

    /// - Parameters:
    ///   - theirs: a relation `theirs` with the columns `bundle_id` and `original_transaction_id`.
    ///   - ofUser: a condition on the user of a row `held`; empty for all users.
    private init(theirs: String, ofUser: String) {
        func join(_ table: String, _ name: String) -> String {
            """
            JOIN \(table) AS \(name)
                ON \(name).original_transaction_id = theirs.original_transaction_id
                AND \(name).environment = $environment
            """
        }
        owners = Statement(
            Subject.parameters, returning: OwnerTable.reader,
            """
            SELECT theirs.original_transaction_id, $environment AS environment, theirs.bundle_id,
                   owner.user_id, coalesce(owner.rule, 'unlinked') AS rule, owner.spans,
                   owner.direct_user_id, owner.app_transaction_id
            FROM \(theirs)
            LEFT \(join("owners", "owner")) AND owner.bundle_id = theirs.bundle_id
            """)
        held = Statement(
            Subject.parameters, returning: EntitlementTable.reader,
            """
            SELECT \(EntitlementTable.reader.names(of: "held"))
            FROM \(theirs)
            \(join("entitlements", "held")) AND held.bundle_id = theirs.bundle_id \(ofUser)
            ORDER BY held.entitlement_key, held.user_id
            """)
        transactions = Statement(
            Subject.parameters, returning: Self.signedTransaction,
            """
            SELECT \(TransactionTable.reader.names(of: "fact")), \(ContentSource.list)
            FROM \(theirs)
            \(join("transactions", "fact")) AND fact.bundle_id = theirs.bundle_id
            LEFT JOIN revisions AS known
                ON known.id = fact.transaction_id AND known.kind = 'transaction'
                AND known.environment = fact.environment AND known.bundle_id = fact.bundle_id
                AND known.track = fact.track
            \(ContentSource.notification)
            ORDER BY fact.purchase_date_ms, fact.transaction_id, known.signed_date_ms
            """)
        renewals = Statement(
            Subject.parameters, returning: Self.renewal, Self.renewals(theirs, join("renewals", "fact")))
        credits = Statement(
            Subject.parameters, returning: LedgerTable.reader,
            """
            SELECT \(LedgerTable.reader.names(of: "held"))
            FROM \(theirs)
            \(join("ledger", "held")) AND held.bundle_id = theirs.bundle_id \(ofUser)
            ORDER BY held.transaction_id, held.product_id, held.currency
            """)
    }

    /// - Parameter join: a join of `renewals AS fact`.
    private static func renewals(_ theirs: String, _ join: String) -> String {
        """
        SELECT theirs.original_transaction_id, fact.environment, theirs.bundle_id,
               \(RenewalTable.reader.names(of: "fact")), \(ContentSource.list)
        FROM \(theirs)
        \(join)
        LEFT JOIN revisions AS known
            ON known.id = fact.original_transaction_id AND known.kind = 'renewal'
            AND known.environment = fact.environment AND known.trust = fact.trust
            AND known.content_hash = fact.content_hash
        \(ContentSource.notification)
        """
    }

    private static let signedTransaction = RowReader(
        SignedTransaction.init, TransactionTable.reader, ContentSource.reader)

    private static let renewal = RowReader(Renewal.init, PurchaseKey.reader, RenewalTable.reader, ContentSource.reader)
}

/// The first origin of a content: the raw record, and its notification.
package struct ContentSource: Sendable {
    package let position: RecordPosition
    package let signedDate: Timestamp
    package let recordedAt: StoredTime
    package let notificationUUID: String?
    /// The type, such as `DID_RENEW`.
    ///
    /// `nil` without a notification.
    package let notificationType: String?
    package let notificationSubtype: String?

    /// The columns of `revisions AS known`, and of `notification`.
    static let list = """
        known.source_topic, known.source_partition, known.source_offset,
        known.signed_date_ms AS source_signed_date_ms, known.recorded_at, known.notification_uuid,
        came.type AS notification_type, came.subtype AS notification_subtype
        """

    static let notification = """
        LEFT JOIN notifications AS came
            ON came.uuid = lower(known.notification_uuid) AND came.environment = known.environment
        """

    /// Reads the columns of `list`; nil if there is no such content.
    static let reader = RowReader<ContentSource?>(
        {
            (
                position: RecordPosition?, signedDate: Timestamp?, recordedAt: StoredTime?, uuid: String?,
                type: String?, subtype: String?
            ) in
            guard let position, let signedDate, let recordedAt else { return nil }
            return ContentSource(
                position: position, signedDate: signedDate, recordedAt: recordedAt, notificationUUID: uuid,
                notificationType: type, notificationSubtype: subtype)
        }, RecordPosition.optionalReader("source"), "source_signed_date_ms", "recorded_at", "notification_uuid",
        "notification_type", "notification_subtype")
}
