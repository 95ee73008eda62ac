/// What kind of public key a certificate carries.
package enum KeyKind: Hashable, Sendable {
    case p256
    case p384
    case otherCurve
    case rsa(bits: Int)
    /// On P-256 or P-384, but not a point of it that can be a public key.
    case malformed
    /// Another algorithm, or a key of one that does not decode.
    case other
}
