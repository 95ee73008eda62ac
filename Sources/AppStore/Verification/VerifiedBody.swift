package import OpenSSL

/// What a verified body holds.
package enum VerifiedBody: Sendable {
    /// There is no purchase in it.
    case ignored(IgnoreReason)
    /// At least one, in the order of the body.
    case items([VerifiedItem])
    /// Good in all else, but whether these certificates are revoked has to be known before.
    case undetermined(Set<SHA256Digest>)

    package enum IgnoreReason: String, Sendable {
        /// An API response without items.
        case emptyResponse = "empty_response"
        /// A genuine receipt without in-app purchases.
        case emptyReceipt = "empty_receipt"
    }
}
