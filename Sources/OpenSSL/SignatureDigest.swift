/// The digest that a certificate's signature is made over.
package enum SignatureDigest: Hashable, Sendable {
    case md5
    case sha1
    case sha224
    case sha256
    case sha384
    case sha512
    case other
}
