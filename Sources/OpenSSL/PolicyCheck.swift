#if POLICY_MUTATION
    import Glibc
#endif

/// The checks of the verifier's policy by name, each of which a test-only build can leave out.
///
/// Built with the condition `POLICY_MUTATION`, the check that the environment names is not made, so
/// that `deploy/mutate.sh` can show that a test notices. In every other build nothing is ever left
/// out, and no such question remains in the code. They stand here because the lowest module with
/// such a check has to know them.
package enum PolicyCheck: String, CaseIterable, Sendable {
    // The body.
    case bodySize, envelopeForm, itemsCount, jsonDepth, oneShape
    case receiptAlphabet, segmentAlphabet
    // The JWS.
    case algorithm, certificateCount, criticalMember, headerForm, headerSize
    case localEntry, segmentCount, signature, signatureLength, signatureRange
    case unencodedPayload, unusedBits
    // The certificates.
    case anchorNamed, anchorValidity, certificateElements, certificateEnd, certificateExtensions
    case certificateForm, certificateSize, certificateVersion, criticalExtensions, digest
    case intermediateMarker
    case intermediateSignature, issuerIsCA, issuerKey, issuerKeyUsage, issuerName
    case keyIdentifier, knownCertificate, knownIntermediate, knownRoot, knownSignature
    case leafIsNoCA, leafKey, leafKeyUsage, leafMarker
    case leafSignature, localCertificate, namedCurve, pathLength, pin, publicKey, publicPoint
    case signersValidity
    // The payload, and whom it is meant for.
    case appAnchor, appAppleID, bundle, environment, identifierLength
    case innerItems, kindOfPlace, oneKind, payloadBounds, payloadForm, renewalAnchor, requiredFields
    case signedDate
    // The parts of a body among each other.
    case claims, itemBundle, itemEnvironment, itemPurchase, pairEnvironment
    case pairTrust
    // Receipts.
    case attributeTwice, attributesCount, receiptAlgorithm, receiptBounds, receiptCertificateCount
    case receiptCertificateSize, receiptEnd, receiptSignature, receiptStringDepth, recordFields
    case recordsCount, recordsDiffer, signedAttributes, signerNamed, signersCount
    // Revocation, and what a responder's word is worth.
    case answerAge, answerDigest, answerEnd, answerFuture, answerSigner
    case plainHTTP, revocation, revocationHard

    #if POLICY_MUTATION
        package var isLeftOut: Bool { Self.leftOut == self }

        private static let leftOut: PolicyCheck? = unsafe getenv("POLICY_CHECK_LEFT_OUT").map {
            let name = unsafe String(cString: $0)
            guard let check = PolicyCheck(rawValue: name) else {
                preconditionFailure("there is no check \(name)")
            }
            return check
        }
    #else
        @inlinable @inline(__always)
        package var isLeftOut: Bool { false }
    #endif
}
