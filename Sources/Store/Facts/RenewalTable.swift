import AppStore
package import Entitlements
import OpenSSL
import Postgres

/// The tables `renewals`, the newest signed renewal info of each subscription, and `grace_periods`,
/// every grace that any of them granted.
package enum RenewalTable {
    /// A grace, and the renewal info that granted it.
    package struct Grace: Hashable, Comparable, Sendable {
        package let key: RenewalKey
        package let grace: GracePeriod

        package init(key: RenewalKey, grace: GracePeriod) {
            self.key = key
            self.grace = grace
        }

        package static func < (left: Grace, right: Grace) -> Bool {
            (left.key, left.grace) < (right.key, right.grace)
        }
    }

    private static let terms: Columns<RenewalFact> = [
        Column("signed_date_ms", \.revision.signedDate),
        Column("content_hash", \.revision.contentHash),
        Column("product_id", \.productID),
        Column("auto_renew_product_id", \.autoRenewProductID),
        Column("auto_renew_status", \.autoRenewStatus),
        Column("is_in_billing_retry", \.isInBillingRetry),
        Column("expiration_intent", \.expirationIntent),
        Column("renewal_date_ms", \.renewalDate),
        Column("grace_period_expires_date_ms", \.gracePeriodExpiresDate),
        Column("account_token", \.appAccountToken),
        Column("app_transaction_id", \.appTransactionID),
    ]

    /// Raises facts to the given revision, which was compared with the table's under the purchases'
    /// locks.
    package static let raise = Statement<[RenewalFact], Void>(
        [.rows("new", RenewalKey.columns.of(\.key) + terms)],
        """
        INSERT INTO renewals ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (original_transaction_id, environment, trust) DO UPDATE SET \(terms.excluded)
        """
    )

    /// Overwrites the table's rows.
    package static let replace = Statement.replacing(
        "renewals",
        key: RenewalKey.columns.of(\.key),
        terms: terms
    )

    private static let grace: Columns<Grace> =
        RenewalKey.columns.of(\.key) + [
            Column("expires_date_ms", \.grace.expiresDate),
            Column("renewal_date_ms", \.grace.renewalDate),
        ]

    package static let addGraces = Statement<[Grace], Void>(
        [.rows("new", grace)],
        """
        INSERT INTO grace_periods ($new.columns) SELECT * FROM $new
        ON CONFLICT DO NOTHING
        """
    )

    /// Removes graces that no renewal info granted.
    package static let removeGraces = Statement<[Grace], Void>(
        [.rows("gone", grace)],
        """
        DELETE FROM grace_periods AS known USING $gone
        WHERE \(RenewalKey.columns.equal("known", "gone"))
          AND known.expires_date_ms = gone.expires_date_ms
          AND known.renewal_date_ms IS NOT DISTINCT FROM gone.renewal_date_ms
        """
    )

    /// Keys, revisions and account tokens.
    package static let read = PurchaseScope.read(RenewalFact.ownershipReader, from: "renewals")

    /// Reads only keys and revisions: nothing else of a renewal info affects a row.
    static let readRevisions = PurchaseScope.read(revisionReader, from: "renewals")

    package static let readGraces = PurchaseScope.read(graceReader, from: "grace_periods")

    private static let revisionReader = RowReader<RenewalFact>(
        { RenewalFact(key: $0, revision: $1) },
        RenewalKey.reader,
        Revision.reader
    )

    private static let graceReader = RowReader(
        Grace.init,
        RenewalKey.reader,
        RowReader(GracePeriod.init, "expires_date_ms", "renewal_date_ms")
    )
}
