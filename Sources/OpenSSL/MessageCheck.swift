/// What became of the signature of a PKCS #7 message.
package enum MessageCheck: Hashable, Sendable {
    case valid
    /// Well formed, and not this key's over these bytes.
    case invalid
    /// The signed attributes lack the content type or the digest of the content, or have another.
    case wrongAttributes
    /// The certificate's key is no RSA key for PKCS #1 v1.5.
    case wrongKey
}
