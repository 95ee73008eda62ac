/// The digest that a certificate's signature is made over.
package enum SignatureDigest: Hashable, Sendable {
    case md5
    case sha1
    case sha224
    case sha256
    case sha384
    case sha512
    case other

    /// What `EVP_MD_fetch` calls it.
    var opensslName: String? {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        case .other: nil
        }
    }
}
