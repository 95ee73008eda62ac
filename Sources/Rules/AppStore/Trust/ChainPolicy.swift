import OpenSSL

/// The rules for a chain of leaf, intermediate and root that need no date and no payload.
struct ChainPolicy {
    let leaf: Certificate
    let intermediate: Certificate
    /// The third certificate: trusted only if its fingerprint is pinned.
    let presentedRoot: Certificate
    let family: ChainFamily

    /// The roots that may have issued the intermediate, before any signature is verified.
    ///
    /// Apple's root is found by the third certificate's fingerprint; a configured root by its name as the issuer,
    /// whatever the third certificate is.
    private func candidates(_ chainRoots: [Certificate]) -> [Certificate] {
        var candidates = chainRoots.filter { intermediate.issuance(by: $0) != .nameMismatch }
        let isPinned = presentedRoot.fingerprint == family.pin
        if isPinned && !candidates.contains(where: { $0.fingerprint == family.pin }) {
            candidates.append(presentedRoot)
        }
        return candidates
    }

    /// The anchors that vouch for the chain, at least one.
    ///
    /// - Parameter signatures: the object that verifies the certificates' signatures, after every other rule.
    func anchors(_ chainRoots: [Certificate], _ signatures: inout CertificateSignatures) throws(Fault) -> [Anchor] {
        let candidates = candidates(chainRoots)
        guard !candidates.isEmpty else { throw Fault(.rootUntrusted, "no configured root has issued the intermediate") }
        try checkLeafAndIntermediate()
        var anchors: [Anchor] = []
        var firstFault: Fault?
        for root in candidates {
            do throws(Fault) { anchors.append(try anchor(root, &signatures)) } catch {
                firstFault = firstFault ?? error
            }
        }
        if anchors.isEmpty, let firstFault { throw firstFault }
        guard signatures.isSigned(leaf, by: intermediate) else {
            throw Fault(.chainInvalid, "the intermediate has not signed the leaf")
        }
        guard leaf.keyKind != .malformed else { throw Self.malformedKey(of: "leaf") }
        return anchors
    }

    private static func malformedKey(of name: String) -> Fault {
        Fault(.certificateMalformed, "the key of the \(name) is not a point of its curve")
    }

    /// The rules that need neither a root nor a signature.
    private func checkLeafAndIntermediate() throws(Fault) {
        try Self.checkIssuance(of: leaf, "leaf", by: intermediate)
        try Self.checkIssuer(intermediate, "intermediate")
        for (certificate, name) in [(leaf, "leaf"), (intermediate, "intermediate")] {
            guard family.allows(certificate.signatureDigest) else {
                throw Fault(.chainInvalid, "the \(name) is signed over a weak digest")
            }
            try Self.checkExtensions(of: certificate, name)
        }
    }

    private func anchor(_ root: Certificate, _ signatures: inout CertificateSignatures) throws(Fault) -> Anchor {
        try Self.checkIssuance(of: intermediate, "intermediate", by: root)
        try Self.checkIssuer(root, "root")
        try Self.checkExtensions(of: root, "root")
        if let pathLengthMax = root.pathLengthMax, pathLengthMax < 1 {
            throw Fault(.chainInvalid, "the root allows no intermediate")
        }
        guard signatures.isSigned(intermediate, byRoot: root) else {
            throw Fault(.chainInvalid, "the root has not signed the intermediate")
        }
        guard let trust = family.trust(inRoot: root.fingerprint) else {
            throw Fault(.rootUntrusted, "the root vouches for another family")
        }
        return Anchor(trust: trust, certificate: root)
    }

    private static func checkIssuance(of certificate: Certificate, _ name: String, by issuer: Certificate) throws(Fault)
    {
        switch certificate.issuance(by: issuer) {
        case .named: break
        case .nameMismatch: throw Fault(.chainInvalid, "the \(name) names another issuer")
        case .keyIdentifierMismatch: throw Fault(.chainInvalid, "the \(name) names another key of its issuer")
        }
    }

    private static func checkIssuer(_ issuer: Certificate, _ name: String) throws(Fault) {
        guard issuer.isCA else { throw Fault(.chainInvalid, "the \(name) is not a CA") }
        if let keyUsage = issuer.keyUsage, !keyUsage.contains(.keyCertSign) {
            throw Fault(.chainInvalid, "the \(name) may not sign certificates")
        }
        switch issuer.keyKind {
        case .p256, .p384: break
        case .rsa(let bits) where bits >= ChainFamily.rsaBitsMin: break
        case .rsa: throw Fault(.chainInvalid, "the \(name) has an RSA key below 2048 bits")
        case .malformed: throw Self.malformedKey(of: name)
        case .otherCurve, .other: throw Fault(.chainInvalid, "the \(name) has a key of no allowed algorithm")
        }
    }

    private static func checkExtensions(of certificate: Certificate, _ name: String) throws(Fault) {
        let unknown = certificate.unknownCriticalExtensions.filter { !MarkerOID.all.contains($0) }
        guard unknown.isEmpty else { throw Fault(.chainInvalid, "the \(name) has an unknown critical extension") }
    }

    /// The reason why the certificates may not sign App Store data.
    ///
    /// `nil` if they may.
    var purposeFault: String? {
        guard leaf.occurrences(ofExtension: MarkerOID.receiptSigning) == 1 else {
            return "the leaf does not have the extension \(MarkerOID.receiptSigning) exactly once"
        }
        guard intermediate.occurrences(ofExtension: MarkerOID.developerRelations) > 0 else {
            return "the intermediate has no extension \(MarkerOID.developerRelations)"
        }
        guard !leaf.isCA else { return "the leaf is a CA" }
        guard leaf.keyUsage?.contains(.digitalSignature) ?? true else {
            return "the leaf's key usage lacks digitalSignature"
        }
        return family.keyFault(of: leaf)
    }
}
