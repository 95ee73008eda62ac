import AppStore
package import Entitlements
import Postgres

/// The tables `ownership_facts`, `ownership_renewals` and `ownership_claims`: statements of signed
/// payloads and of the ingestion service about the owners of purchases.
///
/// Rows are only raised, never lowered.
package enum OwnershipFactTables {
    /// A user named by the ingestion service with a transaction of a purchase.
    package typealias Claim = (purchase: PurchaseKey, claim: UserClaim)

    /// Raises facts to given revisions, which were compared with the stored ones under the purchases' locks.
    package static let raiseFacts = Upsert<TransactionFact>(
        into: "ownership_facts", factKey + factContent,
        onConflict: "(\(factKey.names())) DO UPDATE SET \(factContent.excluded)")

    /// Raises renewal infos like `raiseFacts`.
    package static let raiseRenewals = Statement<[RenewalFact], Void>(
        [.rows("new", renewalKey + renewalContent)],
        """
        INSERT INTO ownership_renewals ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (\(renewalKey.names())) DO UPDATE SET \(renewalContent.excluded)
        """)

    /// Stores claims; of several with one transaction, the claim of the earliest raw record is kept.
    ///
    /// Returns the number of given claims that name another user than the kept claim.
    package static let raiseClaims = Statement<[Claim], Int>(
        [.rows("named", claimKey + claimTerms)], returning: RowReader("count"),
        """
        WITH named AS (
            SELECT * FROM $named
        ),
        raised AS (
            INSERT INTO ownership_claims AS known ($named.columns)
            SELECT * FROM named
            ON CONFLICT (original_transaction_id, environment, bundle_id, transaction_id)
            DO UPDATE SET \(claimTerms.excluded)
            WHERE (excluded.raw_timestamp_ms, excluded.raw_partition, excluded.raw_offset)
                < (known.raw_timestamp_ms, known.raw_partition, known.raw_offset)
        )
        SELECT count(*) FROM named CROSS JOIN LATERAL (
            SELECT known.user_id FROM ownership_claims AS known
            WHERE \(claimKey.equal("known", "named"))
            OFFSET 0
        ) AS known
        WHERE known.user_id <> named.user_id
        """)

    /// Overwrites the table's rows.
    package static let replaceFacts = Statement.replacing("ownership_facts", key: factKey, terms: factContent)

    /// Overwrites the table's rows.
    package static let replaceRenewals = Statement.replacing(
        "ownership_renewals", key: renewalKey, terms: renewalContent)
}

extension OwnershipFactTables {
    private static let factKey: Columns<TransactionFact> = [
        Column("original_transaction_id", \.identity.originalTransactionID),
        Column("transaction_id", \.key.transactionID), Column("environment", \.key.environment),
        Column("bundle_id", \.key.bundleID), Column("track", \.track),
    ]

    private static let factContent: Columns<TransactionFact> =
        Revision.columns.of { $0.revision } + [
            Column("trust", \.trust), Column("purchase_date_ms", \.identity.purchaseDate),
            Column("product_type", \.identity.type), Column("expires_date_ms", \.expiresDate),
            Column("revocation_date_ms", \.revocation?.date), Column("account_token", \.appAccountToken),
            Column("app_transaction_id", \.appTransactionID),
        ] + TransactionTable.naming + TransactionTable.revoking

    private static let renewalKey = RenewalKey.columns.of(\RenewalFact.key)

    private static let renewalContent: Columns<RenewalFact> =
        Revision.columns.of(\.revision) + [
            Column("account_token", \.appAccountToken), Column("app_transaction_id", \.appTransactionID),
        ] + OlderNaming.columns.of(\.olderNaming)

    private static let claimKey: Columns<Claim> =
        PurchaseKey.columns.of(\.purchase) + [Column("transaction_id", \.claim.transactionID)]

    private static let claimTerms: Columns<Claim> = [
        Column("purchase_date_ms", \.claim.purchaseDate), Column("raw_timestamp_ms", \.claim.position.timestamp),
        Column("raw_partition", \.claim.position.partition), Column("raw_offset", \.claim.position.offset),
        Column("user_id", \.claim.userID),
    ]

}

extension OwnershipFactTables {
    package static let readFacts = PurchaseScope.read(factReader, from: "ownership_facts")

    package static let readRenewals = PurchaseScope.read(RenewalFact.ownershipReader, from: "ownership_renewals")

    static let readClaims = PurchaseScope.read(claimReader, from: "ownership_claims")

    /// Reads the part of a transaction that determines its owner, without the product.
    private static let factReader = RowReader(
        TransactionMembers.init(common:expiresDate:revocationDate:token:appTransactionID:),
        TransactionMembers.commonReader, "expires_date_ms", "revocation_date_ms", "account_token", "app_transaction_id"
    ).map { TransactionFact($0) }

    private static let claimReader = RowReader<Claim>(
        { ($0, $1) }, PurchaseKey.reader,
        RowReader(
            UserClaim.init, "transaction_id", "purchase_date_ms",
            RowReader(RawPosition.init, "raw_timestamp_ms", "raw_partition", "raw_offset"), "user_id"))
}

extension RenewalFact {
    /// Reads the part of a renewal info that determines the owner of its purchases.
    static let ownershipReader = RowReader(
        { key, revision, naming, token, appTransactionID in
            var fact = RenewalFact(key: key, revision: revision)
            fact.olderNaming = naming
            fact.appAccountToken = token
            fact.appTransactionID = appTransactionID
            return fact
        }, RenewalKey.reader, Revision.reader, OlderNaming.reader, "account_token", "app_transaction_id")
}

extension TransactionMembers {
    fileprivate init(
        common: TransactionMembers, expiresDate: Timestamp?, revocationDate: Timestamp?, token: AccountToken?,
        appTransactionID: Identifier?
    ) {
        self = common
        self.expiresDate = expiresDate
        revocation = revocationDate.map { Revocation(date: $0) }
        appAccountToken = token
        self.appTransactionID = appTransactionID
    }
}
