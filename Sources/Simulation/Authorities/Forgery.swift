/// What can be wrong with a JWS whose certificates are good.
package enum Forgery: String, CaseIterable, Sendable {
    case flippedSignature
    case flippedPayload
    /// Signed by a key of the forger's own, under the genuine header.
    case foreignKey
    case algorithmNone
    case algorithmHS256
    case zeroR
    case highestS
    case signatureInDER
    case shortSignature
    case longSignature
    case truncated
    case fourSegments
    case paddedSegment
    case withoutCertificates
    case criticalMember
    case unencodedPayload
}
