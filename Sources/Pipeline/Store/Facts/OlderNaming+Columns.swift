import AppStore
import Entitlements
import OpenSSL

/// The columns of the revisions that named a fact's token and `appTransactionId`.
///
/// They are NULL if the newest revision named them.
extension OlderNaming {
    static let columns: Columns<OlderNaming> = [
        Column("token_signed_date_ms", \.token?.signedDate), Column("token_content_hash", \.token?.contentHash),
        Column("app_transaction_signed_date_ms", \.appTransaction?.signedDate),
        Column("app_transaction_content_hash", \.appTransaction?.contentHash),
    ]

    static let reader = RowReader(
        OlderNaming.init, Revision.optionalReader("token"), Revision.optionalReader("app_transaction"))
}

extension Revision {
    /// Reads the two columns of a revision, which are either both NULL or both set.
    static func optionalReader(_ prefix: String) -> RowReader<Revision?> {
        RowReader(
            { (signedDate: Timestamp?, contentHash: SHA256Digest?) in
                guard let signedDate, let contentHash else { return nil }
                return Revision(signedDate: signedDate, contentHash: contentHash)
            }, RowReader<Timestamp?>(stringLiteral: "\(prefix)_signed_date_ms"),
            RowReader<SHA256Digest?>(stringLiteral: "\(prefix)_content_hash"))
    }
}

/// A column that an older revision may fill, and the two columns of that revision.
///
/// The SQL is for an `ON CONFLICT DO UPDATE` of a row `known`.
struct NamedColumn {
    let name: String
    /// The prefix of the columns of `OlderNaming`.
    let prefix: String

    static let all = [
        NamedColumn(name: "account_token", prefix: "token"),
        NamedColumn(name: "app_transaction_id", prefix: "app_transaction"),
    ]

    /// The assignment of the value from the newest revision that names one (`OwnerNaming`).
    var assignment: String {
        """
        (\(name), \(prefix)_signed_date_ms, \(prefix)_content_hash) = (
            SELECT value, CASE WHEN is_older THEN signed END, CASE WHEN is_older THEN hash END
            FROM (
                SELECT *, value IS NULL
                    OR (signed, hash) < (excluded.signed_date_ms, excluded.content_hash)
                    OR (signed, hash) < (known.signed_date_ms, known.content_hash) AS is_older
                FROM (VALUES
                    (\(named("known")), NOT \(Self.isNewer)),
                    (\(named("excluded")), \(Self.isNewer))
                ) AS named (value, signed, hash, is_newest)
                WHERE is_newest OR NOT \(TransactionTable.reusesIDs("known"))
            ) AS named
            -- Of one revision twice, the row whose token was forgotten.
            ORDER BY signed DESC NULLS LAST, hash DESC NULLS LAST, value IS NOT NULL LIMIT 1
        )
        """
    }

    /// The condition that the given row names a value that the known row lacks, or names it in a
    /// newer revision.
    var isRaised: String {
        "(\(naming("known")[0]) IS NULL AND \(naming("excluded")[0]) IS NOT NULL OR "
            + "(\(naming("excluded").joined(separator: ", "))) > " + "(\(naming("known").joined(separator: ", "))))"
    }

    static let isNewer = "(excluded.signed_date_ms, excluded.content_hash) > (known.signed_date_ms, known.content_hash)"

    private func named(_ row: String) -> String { (["\(row).\(name)"] + naming(row)).joined(separator: ", ") }

    /// The revision that named a row's value, as SQL; NULL without a value.
    private func naming(_ row: String) -> [String] {
        ["signed_date_ms", "content_hash"].map { column in
            "coalesce(\(row).\(prefix)_\(column), CASE WHEN \(row).\(name) IS NOT NULL THEN \(row).\(column) END)"
        }
    }
}
