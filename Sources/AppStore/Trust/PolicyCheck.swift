import OpenSSL

/// The checks of the policy by name, each of which a test-only build can leave out.
///
/// Built with the condition `POLICY_MUTATION`, the check that the environment names is not made, so
/// that `deploy/mutate.sh` can show that a test notices. In every other build nothing is ever left
/// out, and no such question remains in the code.
enum PolicyCheck: String, CaseIterable {
    case algorithm, anchorNamed, anchorValidity, appAppleID, bundle
    case certificateCount, certificateSize, claims, criticalExtensions, criticalMember
    case digest, headerSize, intermediateMarker, intermediateSignature, issuerIsCA
    case issuerKey, issuerKeyUsage, issuerName, itemBundle, itemEnvironment
    case itemPurchase, keyIdentifier, kindOfPlace, leafIsNoCA, leafKey
    case leafKeyUsage, leafMarker, leafSignature, localCertificate, pairEnvironment
    case pairTrust, pathLength, receiptSignature, requiredFields, revocation
    case signature, signatureLength, signedAttributes, signersValidity, unencodedPayload

    #if POLICY_MUTATION
        var isLeftOut: Bool { Self.leftOut == self }

        private static let leftOut = LeftOutCheck.name.map { name in
            guard let check = PolicyCheck(rawValue: name) else {
                preconditionFailure("there is no check \(name)")
            }
            return check
        }
    #else
        @inline(__always)
        var isLeftOut: Bool { false }
    #endif
}
