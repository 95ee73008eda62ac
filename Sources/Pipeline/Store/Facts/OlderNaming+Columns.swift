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
