import AppStore
import Entitlements
import JSON
import OpenSSL

/// Facts for tests, with irrelevant fields filled in.
enum Sample {
    static let bundleID: Identifier = "com.example.notes"

    static func date(_ text: String) -> Timestamp {
        guard let date = Timestamp(iso8601: text) else { preconditionFailure("a test names an invalid date: \(text)") }
        return date
    }

    static func revision(signedDate: Int64, content: String) -> Revision {
        Revision(signedDate: Timestamp(milliseconds: signedDate), contentHash: SHA256.digest(Array(content.utf8)))
    }

    static func identity(
        original: Identifier = "1000", product: Identifier = "pro.monthly", purchaseDate: Int64 = 1_767_225_600_000,
        type: ProductType? = .autoRenewable, quantity: Int32? = 1
    ) -> TransactionIdentity {
        TransactionIdentity(
            originalTransactionID: original, productID: product, purchaseDate: Timestamp(milliseconds: purchaseDate),
            type: type, quantity: quantity)
    }

    /// The transaction 1000 as one track states it; by default signed with that date alone.
    static func transaction(
        _ track: Track, signedDate: Int64, content: String? = nil, purchaseDate: Int64, expires: Int64? = nil,
        revoked: Int64? = nil
    ) -> TransactionFact {
        var members = TransactionMembers(
            key: TransactionKey(environment: .production, bundleID: bundleID, transactionID: "1000"), track: track,
            revision: revision(signedDate: signedDate, content: content ?? track.rawValue), trust: .apple,
            identity: identity(purchaseDate: purchaseDate))
        members.expiresDate = expires.map { Timestamp(milliseconds: $0) }
        members.revocation = revoked.map { Revocation(date: Timestamp(milliseconds: $0)) }
        return TransactionFact(members)
    }

    static func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }
}

extension Array {
    /// Its elements in every order.
    var permutations: [[Element]] {
        guard count > 1 else { return [self] }
        return indices.flatMap { index in
            var rest = self
            let first = rest.remove(at: index)
            return rest.permutations.map { [first] + $0 }
        }
    }
}
