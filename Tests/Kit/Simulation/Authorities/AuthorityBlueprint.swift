package import OpenSSL

/// The parts of a throw-away certificate authority, each of which a test may break.
///
/// The default has the form of Apple's authority for JWS: a P-384 root, a P-384 intermediate and a
/// P-256 leaf with Apple's markers, of about the same size.
package struct AuthorityBlueprint: Sendable {
    package var rootKey: PrivateKey
    package var intermediateKey: PrivateKey
    package var leafKey: PrivateKey
    package var root: CertificateBuilder
    package var intermediate: CertificateBuilder
    package var leaf: CertificateBuilder
    /// Signs instead of the root, which the intermediate still names.
    package var intermediateSigner: PrivateKey?
    /// Signs instead of the intermediate, which the leaf still names.
    package var leafSigner: PrivateKey?

    /// - Parameters:
    ///   - name: distinguishes the authority's subjects from another's.
    ///   - validity: of all three, in seconds since 1970.
    package init(name: String, validity: ClosedRange<Int64> = CertificateAuthority.standardValidity) throws(KeyError) {
        self.init(
            name: name, rootName: "\(name) Root CA - G3", validity: validity, rootKey: try .generate(.p384),
            intermediateKey: try .generate(.p384), leafKey: try .generate(.p256))
    }

    /// An authority for receipts: RSA keys, signed over SHA-256, as Apple's are today.
    package static func receipts(name: String, validity: ClosedRange<Int64> = CertificateAuthority.standardValidity)
        throws(KeyError) -> AuthorityBlueprint
    {
        var blueprint = AuthorityBlueprint(
            name: name, rootName: "\(name) Root CA", validity: validity, rootKey: try .generate(.rsa(bits: 2048)),
            intermediateKey: try .generate(.rsa(bits: 2048)), leafKey: try .generate(.rsa(bits: 2048)))
        blueprint.root.signatureDigest = .sha256
        blueprint.intermediate.signatureDigest = .sha256
        blueprint.leaf.signatureDigest = .sha256
        return blueprint
    }

    private init(
        name: String, rootName: String, validity: ClosedRange<Int64>, rootKey: PrivateKey, intermediateKey: PrivateKey,
        leafKey: PrivateKey
    ) {
        self.rootKey = rootKey
        self.intermediateKey = intermediateKey
        self.leafKey = leafKey
        let intermediateName = "\(name) Worldwide Developer Relations"
        root = CertificateBuilder(subject: rootName, issuer: rootName, validity: validity)
        root.isCA = true
        root.keyUsage = [.keyCertSign, .crlSign]
        root.subjectKeyIdentifier = rootKey.keyIdentifier
        intermediate = CertificateBuilder(subject: intermediateName, issuer: rootName, validity: validity)
        intermediate.isCA = true
        intermediate.pathLengthMax = 0
        intermediate.keyUsage = [.keyCertSign, .crlSign]
        intermediate.subjectKeyIdentifier = intermediateKey.keyIdentifier
        intermediate.authorityKeyIdentifier = rootKey.keyIdentifier
        intermediate.extensions = [.init(oid: AppleMarker.intermediate), Self.policy(bytes: 340)]
        leaf = CertificateBuilder(
            subject: "\(name) Mac App Store and iTunes Store Receipt Signing", issuer: intermediateName,
            validity: validity)
        leaf.isCA = false
        leaf.keyUsage = .digitalSignature
        leaf.subjectKeyIdentifier = leafKey.keyIdentifier
        leaf.authorityKeyIdentifier = intermediateKey.keyIdentifier
        leaf.extensions = [.init(oid: AppleMarker.leaf), Self.policy(bytes: 650)]
    }

    /// Replaces the policy text and addresses that make up most of the size of Apple's
    /// certificates.
    private static func policy(bytes: Int) -> CertificateBuilder.Extension {
        let text = String(repeating: "Reliance on this certificate is for tests only. ", count: 20)
        return .init(oid: "1.3.6.1.4.1.32473.1", value: DER.utf8String(String(text.prefix(bytes))))
    }
}

extension AuthorityBlueprint {
    /// The same authority with its next leaf, as Apple issues one about every two years.
    package func withNextLeaf(validity: ClosedRange<Int64>) throws(KeyError) -> AuthorityBlueprint {
        var next = self
        next.leafKey = try .generate(.p256)
        next.leaf.serialNumber += 1
        next.leaf.validity = validity
        next.leaf.subjectKeyIdentifier = next.leafKey.keyIdentifier
        return next
    }

    /// The same root with its next intermediate, and a leaf below it.
    package func withNextIntermediate(named name: String, validity: ClosedRange<Int64>) throws(KeyError)
        -> AuthorityBlueprint
    {
        var next = self
        next.intermediateKey = try .generate(.p384)
        next.intermediate.serialNumber += 1
        next.intermediate.subject = name
        next.intermediate.validity = validity
        next.intermediate.subjectKeyIdentifier = next.intermediateKey.keyIdentifier
        next.leaf.issuer = name
        next.leaf.authorityKeyIdentifier = next.intermediateKey.keyIdentifier
        return try next.withNextLeaf(validity: validity)
    }
}

/// The extensions by which Apple marks the certificates of its receipt signers.
package enum AppleMarker {
    package static let leaf = "1.2.840.113635.100.6.11.1"
    package static let intermediate = "1.2.840.113635.100.6.2.1"
}
