package import OpenSSL

/// A throw-away certificate authority instead of Apple's.
///
/// The header segment is made once, as it is the same for every body of one leaf.
package struct CertificateAuthority: Sendable {
    package let root: [UInt8]
    package let intermediate: [UInt8]
    package let leaf: [UInt8]
    package let leafKey: PrivateKey
    /// `{"alg":"ES256","x5c":[…]}` in base64url, without the dot.
    package let headerSegment: [UInt8]
    /// The issuer and serial number by which the leaf's receipts name it.
    let signerIdentifier: [UInt8]

    /// 2020-01-01 to 2049-12-31.
    package static let standardValidity: ClosedRange<Int64> = 1_577_836_800...2_524_607_999
}

extension CertificateAuthority {
    /// Generates keys and issues the three certificates, after `adjust` has changed the blueprint.
    package init(
        name: String = "Demo", validity: ClosedRange<Int64> = standardValidity,
        adjusting adjust: (inout AuthorityBlueprint) throws(KeyError) -> Void = { _ in }
    ) throws(KeyError) {
        var blueprint = try AuthorityBlueprint(name: name, validity: validity)
        try adjust(&blueprint)
        try self.init(blueprint)
    }

    package init(_ blueprint: AuthorityBlueprint) throws(KeyError) {
        let root = try blueprint.root.der(for: blueprint.rootKey, signedBy: blueprint.rootKey)
        let intermediate = try blueprint.intermediate.der(
            for: blueprint.intermediateKey, signedBy: blueprint.intermediateSigner ?? blueprint.rootKey)
        let leaf = try blueprint.leaf.der(
            for: blueprint.leafKey, signedBy: blueprint.leafSigner ?? blueprint.intermediateKey)
        self.init(
            root: root, intermediate: intermediate, leaf: leaf, leafKey: blueprint.leafKey,
            headerSegment: Self.headerSegment(certificates: [leaf, intermediate, root]),
            signerIdentifier: blueprint.leaf.issuerAndSerialNumber)
    }

    /// An authority with one self-signed certificate, as in Xcode's local StoreKit testing.
    ///
    /// The key is on P-256 for JWS, and an RSA key for receipts.
    package static func xcode(
        validity: ClosedRange<Int64> = standardValidity, key algorithm: PrivateKey.Algorithm = .p256
    ) throws(KeyError) -> CertificateAuthority {
        let key = try PrivateKey.generate(algorithm)
        let name = "StoreKit Testing in Xcode"
        var builder = CertificateBuilder(subject: name, issuer: name, validity: validity)
        builder.signatureDigest = .sha256
        builder.keyUsage = .digitalSignature
        let der = try builder.der(for: key, signedBy: key)
        return CertificateAuthority(
            root: der, intermediate: der, leaf: der, leafKey: key,
            headerSegment: headerSegment(certificates: [der], leading: #""kid":"Apple_Xcode_Key","typ":"JWT","#),
            signerIdentifier: builder.issuerAndSerialNumber)
    }

    /// The certificates as `x5c` has them.
    package var chain: [[UInt8]] { [leaf, intermediate, root] }

    /// The root as a file for the workers' settings.
    package var rootPEM: String { PEM.encode(root, label: "CERTIFICATE") }

    /// A compact JWS of exactly these payload bytes.
    package func sign(_ payload: [UInt8]) throws(KeyError) -> [UInt8] {
        try sign(payload, headerSegment: headerSegment)
    }

    /// The same with another header segment, which is signed too.
    package func sign(_ payload: [UInt8], headerSegment: [UInt8]) throws(KeyError) -> [UInt8] {
        let signed = headerSegment + [UInt8(ascii: ".")] + Base64Text.url(payload)
        return signed + [UInt8(ascii: ".")] + Base64Text.url(try leafKey.sign(signed))
    }

    /// - Parameters:
    ///   - leading: members before `alg`, each with its comma.
    ///   - trailing: members after `x5c`, each with its comma before it.
    package static func headerSegment(
        algorithm: String = "ES256", certificates: [[UInt8]], leading: String = "", trailing: String = ""
    ) -> [UInt8] {
        let chain = certificates.map { "\"" + String(decoding: Base64Text.standard($0), as: UTF8.self) + "\"" }
        let x5c = "\"x5c\":[" + chain.joined(separator: ",") + "]"
        return Base64Text.url(Array("{\(leading)\"alg\":\"\(algorithm)\",\(x5c)\(trailing)}".utf8))
    }
}
