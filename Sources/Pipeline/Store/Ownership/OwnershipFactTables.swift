import AppStore
package import Entitlements
import Postgres

/// The tables `ownership_facts`, `ownership_renewals`, `ownership_claims` and `ownership_restores`: statements of
/// signed payloads and of the ingestion service about the owners of purchases.
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

    /// The numbers of given claims that are not the first of their transaction.
    package struct RaisedClaims: Sendable {
        /// The claims that name another user than the earliest claim of the transaction.
        package let contradictingCount: Int
        /// The contradicting claims that are not kept, because `restoresMax` other users came earlier.
        package let leftOutCount: Int
    }

    /// Maximum users of one transaction that are kept besides the first.
    package static let restoresMax = 16

    /// Stores claims, one for each transaction and user: the earliest of a transaction in `ownership_claims`, and the
    /// earliest of each further user in `ownership_restores`, up to `restoresMax` users.
    ///
    /// The rows follow from the set of claims, not from their order.
    package static let raiseClaims = Statement<[Claim], RaisedClaims>(
        [.rows("named", claimKey + claimTerms)], returning: RowReader(RaisedClaims.init, "contradicting", "left_out"),
        """
        WITH named AS (
            SELECT * FROM $named
        ),
        asked AS (
            SELECT DISTINCT \(claimKey.names()) FROM named
        ),
        first_known AS (
            SELECT known.* FROM asked CROSS JOIN LATERAL (\(claims(of: "ownership_claims"))) AS known
        ),
        told AS (
            SELECT DISTINCT ON (\(claimKey.names()), user_id) *
            FROM (
                SELECT $named.columns FROM named
                UNION ALL
                SELECT * FROM first_known
                UNION ALL
                SELECT known.* FROM asked CROSS JOIN LATERAL (\(claims(of: "ownership_restores"))) AS known
            ) AS told
            ORDER BY \(claimKey.names()), user_id, \(position())
        ),
        firsts AS (
            SELECT DISTINCT ON (\(claimKey.names())) *
            FROM (SELECT $named.columns FROM named UNION ALL SELECT * FROM first_known) AS told
            ORDER BY \(claimKey.names()), \(position())
        ),
        ranked AS MATERIALIZED (
            SELECT told.*, row_number() OVER (
                PARTITION BY \(claimKey.names(of: "told"))
                ORDER BY told.user_id <> firsts.user_id, \(position(of: "told"))) AS place
            FROM told JOIN firsts ON \(claimKey.equal("told", "firsts"))
        ),
        raised AS (
            INSERT INTO ownership_claims AS known ($named.columns)
            SELECT $named.columns FROM ranked WHERE place = 1
            ON CONFLICT (\(claimKey.names())) DO UPDATE SET \(claimTerms.excluded)
            WHERE (\(position(of: "excluded"))) < (\(position(of: "known")))
        ),
        restored AS (
            INSERT INTO ownership_restores AS known ($named.columns)
            SELECT $named.columns FROM ranked WHERE place BETWEEN 2 AND \(restoresMax + 1)
            ON CONFLICT (\(claimKey.names()), user_id) DO UPDATE SET \(claimTerms.excluded)
            WHERE (\(position(of: "excluded"))) < (\(position(of: "known")))
        ),
        removed AS (
            DELETE FROM ownership_restores AS known USING ranked
            WHERE \(claimKey.equal("known", "ranked")) AND known.user_id = ranked.user_id
              AND ranked.place NOT BETWEEN 2 AND \(restoresMax + 1)
        )
        SELECT count(*) FILTER (WHERE ranked.place > 1 OR first_known.user_id <> named.user_id) AS contradicting,
            count(*) FILTER (WHERE ranked.place > \(restoresMax + 1)) AS left_out
        FROM named
        JOIN ranked ON \(claimKey.equal("named", "ranked")) AND named.user_id = ranked.user_id
        LEFT JOIN first_known ON \(claimKey.equal("named", "first_known"))
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

    static let (factColumns, renewalColumns) = ((factKey + factContent).names, (renewalKey + renewalContent).names)

    private static let claimKey: Columns<Claim> =
        PurchaseKey.columns.of(\.purchase) + [Column("transaction_id", \.claim.transactionID)]

    private static let claimTerms: Columns<Claim> = [
        Column("purchase_date_ms", \.claim.purchaseDate), Column("raw_timestamp_ms", \.claim.position.timestamp),
        Column("raw_partition", \.claim.position.partition), Column("raw_offset", \.claim.position.offset),
        Column("user_id", \.claim.userID),
    ]

    private static func claims(of table: String) -> String {
        """
        SELECT \((claimKey + claimTerms).names(of: "known")) FROM \(table) AS known
        WHERE \(claimKey.equal("known", "asked")) OFFSET 0
        """
    }

    private static func position(of relation: String? = nil) -> String {
        ["raw_timestamp_ms", "raw_partition", "raw_offset"].map { name in relation.map { "\($0).\(name)" } ?? name }
            .joined(separator: ", ")
    }
}

extension OwnershipFactTables {
    package static let readFacts = PurchaseScope.read(factReader, from: "ownership_facts")

    package static let readRenewals = PurchaseScope.read(RenewalFact.ownershipReader, from: "ownership_renewals")

    static let readClaims = PurchaseScope.read(claimReader, from: "ownership_claims")

    static let readRestores = PurchaseScope.read(claimReader, from: "ownership_restores")

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
