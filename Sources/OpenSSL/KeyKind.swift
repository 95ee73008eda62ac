/// What kind of public key a certificate carries.
package enum KeyKind: Hashable, Sendable {
    case p256
    case p384
    case otherCurve
    case rsa(bits: Int)
    /// Another algorithm, or a key that does not decode (a point off its curve, for one).
    case other
}
