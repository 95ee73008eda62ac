package import OpenSSL

/// Content of an intermediate certificate that a forger makes costly to read.
package enum CostlyCertificate: String, CaseIterable, Sendable {
    case rsa16384 = "an RSA key of 16,384 bits"
    case longExponent = "an RSA exponent of 3,072 bits"
    case explicitParameters = "a curve spelt out"
    case p521 = "a key on P-521"
    case manyNames = "2,200 alternative names"
    case manyPurposes = "1,650 purposes"
    case manyExtensions = "360 extensions"
    case manyPlaces = "825 distribution points"
    /// Certificates that each have as many elements as are allowed, in the whole chain.
    case namesAllowed = "108 names in each certificate"

    /// Whether the certificate is refused for its own form, whatever its issuer.
    package var isMalformed: Bool { [.manyNames, .manyPurposes, .manyExtensions, .manyPlaces].contains(self) }

    /// Bytes of costly content that leave room for the chain in a header of 16 KiB.
    private static let bytes = 6_600

    /// Adds the costly content within the allowed size.
    fileprivate func adjust(_ blueprint: inout AuthorityBlueprint) throws(KeyError) {
        switch self {
        case .rsa16384: blueprint.intermediate.subjectPublicKeyInfo = Self.rsa(modulusBytes: 2_048, exponentBytes: 8)
        case .longExponent:
            blueprint.intermediate.subjectPublicKeyInfo = Self.rsa(modulusBytes: 384, exponentBytes: 384)
        case .explicitParameters: blueprint.intermediateKey = try .generate(.p256ExplicitParameters)
        case .p521: blueprint.intermediateKey = try .generate(.p521)
        case .manyNames: blueprint.intermediate.extensions = [Self.filled("2.5.29.17", with: [0x82, 0x01, 0x61])]
        case .manyPurposes:
            blueprint.intermediate.extensions = [Self.filled("2.5.29.37", with: [0x06, 0x02, 0x2A, 0x03])]
        case .manyExtensions:
            let count = Self.bytes / 18
            blueprint.intermediate.extensions = (0..<count).map { .init(oid: "1.3.6.1.4.1.32473.\($0)") }
        case .manyPlaces:
            let point: [UInt8] = [0x30, 0x06, 0xA0, 0x04, 0xA0, 0x02, 0x82, 0x00]
            blueprint.intermediate.extensions = [Self.filled("2.5.29.31", with: point)]
        case .namesAllowed:
            let names = Self.list("2.5.29.17", [0x82, 0x01, 0x61], 108)
            blueprint.leaf.extensions.append(names)
            blueprint.intermediate.extensions.append(names)
            blueprint.root.extensions.append(names)
        }
    }

    private static func filled(_ oid: String, with element: [UInt8]) -> CertificateBuilder.Extension {
        list(oid, element, bytes / element.count)
    }

    private static func list(_ oid: String, _ element: [UInt8], _ count: Int) -> CertificateBuilder.Extension {
        let elements = [[UInt8]](repeating: element, count: count)
        return .init(oid: oid, value: DER.sequence(elements))
    }

    /// A public key (RFC 8017 appendix A.1.1) without a private half.
    private static func rsa(modulusBytes: Int, exponentBytes: Int) -> [UInt8] {
        func odd(_ count: Int) -> [UInt8] { [0x7F] + [UInt8](repeating: 0xFF, count: count - 1) }
        let key = DER.sequence([
            DER.element(0x02, [0x00, 0xFF] + odd(modulusBytes).dropFirst()), DER.element(0x02, odd(exponentBytes)),
        ])
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.840.113549.1.1.1"), DER.element(0x05, [])])
        return DER.sequence([algorithm, DER.bitString(key)])
    }
}

extension AuthorityBlueprint {
    /// The same authority with an intermediate that is costly to read and that its root has not
    /// signed.
    package func forged(with certificate: CostlyCertificate, signer: PrivateKey) throws(KeyError) -> AuthorityBlueprint
    {
        var forged = self
        try certificate.adjust(&forged)
        forged.intermediateSigner = signer
        return forged
    }
}
