/// What became of an ES256 signature.
package enum SignatureCheck: Hashable, Sendable {
    case valid
    /// Well formed, and not this key's over these bytes.
    case invalid
    /// r or s is not in 1…n−1, so it is no signature of anybody's.
    case outOfRange
    /// Not 64 bytes.
    case wrongLength
}
