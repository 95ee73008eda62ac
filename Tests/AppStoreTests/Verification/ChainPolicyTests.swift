import AppStore
import OpenSSL
import Testing
import Simulation

/// Chains with one defect each, good in every other respect.
struct ChainPolicyTests {
    struct Defect: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reason: RefusalReason?
        let adjust: @Sendable (inout AuthorityBlueprint) throws(KeyError) -> Void

        init(
            _ description: String, _ reason: RefusalReason?,
            _ adjust: @escaping @Sendable (inout AuthorityBlueprint) throws(KeyError) -> Void
        ) {
            testDescription = description
            self.reason = reason
            self.adjust = adjust
        }
    }

    static let names: [Defect] = [
        Defect("leaf of another issuer", .chainInvalid) { $0.leaf.issuer = "Somebody" },
        Defect("intermediate of another issuer", .rootUntrusted) { $0.intermediate.issuer = "Somebody" },
        Defect("leaf names another key", .chainInvalid) { $0.leaf.authorityKeyIdentifier = [1, 2, 3] },
        Defect("intermediate names another key", .chainInvalid) { $0.intermediate.authorityKeyIdentifier = [1, 2, 3] },
        Defect("no key identifiers at all", nil) {
            $0.leaf.authorityKeyIdentifier = nil
            $0.intermediate.authorityKeyIdentifier = nil
            $0.intermediate.subjectKeyIdentifier = nil
            $0.root.subjectKeyIdentifier = nil
        },
        Defect("leaf signed by a foreign key", .chainInvalid) { (blueprint) throws(KeyError) in
            blueprint.leafSigner = try .generate(.p384)
        },
        Defect("intermediate signed by a foreign key", .chainInvalid) { (blueprint) throws(KeyError) in
            blueprint.intermediateSigner = try .generate(.p384)
        },
    ]

    static let authorities: [Defect] = [
        Defect("intermediate is no CA", .chainInvalid) { $0.intermediate.isCA = false },
        Defect("intermediate without basic constraints", .chainInvalid) {
            $0.intermediate.isCA = nil
            $0.intermediate.pathLengthMax = nil
        },
        Defect("intermediate may not sign certificates", .chainInvalid) {
            $0.intermediate.keyUsage = .digitalSignature
        }, Defect("intermediate without key usage", nil) { $0.intermediate.keyUsage = nil },
        Defect("root is no CA", .chainInvalid) { $0.root.isCA = false },
        Defect("root may not sign certificates", .chainInvalid) { $0.root.keyUsage = .digitalSignature },
        Defect("root allows no intermediate", .chainInvalid) { $0.root.pathLengthMax = 0 },
        Defect("root allows one intermediate", nil) { $0.root.pathLengthMax = 1 },
        Defect("self-issued intermediate is no CA", .chainInvalid) {
            $0.intermediate.subject = $0.root.subject
            $0.leaf.issuer = $0.root.subject
            $0.intermediate.isCA = false
            $0.intermediate.pathLengthMax = nil
        }, Defect("SHA-1 on the leaf", .chainInvalid) { $0.leaf.signatureDigest = .sha1 },
        Defect("SHA-1 on the intermediate", .chainInvalid) { $0.intermediate.signatureDigest = .sha1 },
        Defect("SHA-1 on the root", nil) { $0.root.signatureDigest = .sha1 },
        Defect("RSA intermediate of 2048 bits", nil) { (blueprint) throws(KeyError) in
            blueprint.intermediateKey = try .generate(.rsa(bits: 2048))
            blueprint.intermediate.subjectKeyIdentifier = nil
            blueprint.leaf.authorityKeyIdentifier = nil
            blueprint.leaf.signatureDigest = .sha256
        },
        Defect("RSA intermediate of 1024 bits", .chainInvalid) { (blueprint) throws(KeyError) in
            blueprint.intermediateKey = try .generate(.rsa(bits: 1024))
            blueprint.intermediate.subjectKeyIdentifier = nil
            blueprint.leaf.authorityKeyIdentifier = nil
            blueprint.leaf.signatureDigest = .sha256
        },
        Defect("intermediate on P-521", .chainInvalid) { (blueprint) throws(KeyError) in
            blueprint.intermediateKey = try .generate(.p521)
            blueprint.intermediate.subjectKeyIdentifier = nil
            blueprint.leaf.authorityKeyIdentifier = nil
        },
        Defect("critical markers", nil) {
            $0.leaf.extensions[0].isCritical = true
            $0.intermediate.extensions[0].isCritical = true
        },
    ]

    static let purposes: [Defect] = [
        Defect("leaf without its marker", .certificatePurpose) {
            $0.leaf.extensions.removeAll { $0.oid == AppleMarker.leaf }
        },
        Defect("intermediate without its marker", .certificatePurpose) {
            $0.intermediate.extensions.removeAll { $0.oid == AppleMarker.intermediate }
        }, Defect("leaf is a CA", .certificatePurpose) { $0.leaf.isCA = true },
        Defect("leaf may not sign", .certificatePurpose) { $0.leaf.keyUsage = .keyEncipherment },
        Defect("leaf without key usage", nil) { $0.leaf.keyUsage = nil },
        Defect("leaf with extended key usage", nil) {
            $0.leaf.extensions.append(.init(oid: "2.5.29.37", value: [0x30, 0x0A, 6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 3]))
        },
        Defect("curve spelt out in the leaf", .certificatePurpose) { (blueprint) throws(KeyError) in
            blueprint.leafKey = try .generate(.p256ExplicitParameters)
        },
    ]

    static let forms: [Defect] = [
        Defect("leaf of version 1", .certificateMalformed) { $0.leaf.version = 1 },
        Defect("intermediate of version 2", .certificateMalformed) { $0.intermediate.version = 2 },
        Defect("leaf with a date of another form", .certificateMalformed) {
            $0.leaf.notBeforeElement = [0x18, 15] + Array("20250101000000Z".utf8)
        },
        Defect("leaf with two constraints", .certificateMalformed) {
            $0.leaf.extensions.append(.init(oid: "2.5.29.19", value: [0x30, 0x00]))
        },
        Defect("leaf of more than 8 KiB", .certificateMalformed) {
            $0.leaf.extensions.append(
                .init(oid: "1.3.6.1.4.1.32473.2", value: DER.octetString([UInt8](repeating: 1, count: 8_200))))
        }, Defect("no serial number decides", nil) { $0.leaf.serialNumber = 0 },
    ]

    static let keys: [Defect] = [
        Defect("the leaf's key is the point at infinity", .certificateMalformed) {
            $0.leaf.subjectPublicKeyInfo = BrokenKey.atInfinity(.p256)
        },
        Defect("the leaf's key is off its curve", .certificateMalformed) {
            $0.leaf.subjectPublicKeyInfo = BrokenKey.offCurve(of: $0.leafKey)
        },
        Defect("the leaf's key is off its curve, compressed", .certificateMalformed) {
            $0.leaf.subjectPublicKeyInfo = BrokenKey.offCurveCompressed(.p256)
        },
        Defect("the intermediate's key is the point at infinity", .certificateMalformed) {
            $0.intermediate.subjectPublicKeyInfo = BrokenKey.atInfinity(.p384)
        },
        Defect("the intermediate's key is off its curve", .certificateMalformed) {
            $0.intermediate.subjectPublicKeyInfo = BrokenKey.offCurve(of: $0.intermediateKey)
        },
        Defect("the intermediate's key is off its curve, compressed", .certificateMalformed) {
            $0.intermediate.subjectPublicKeyInfo = BrokenKey.offCurveCompressed(.p384)
        },
    ]

    @Test(arguments: names + authorities + purposes + forms + keys) func `one defect, one verdict`(defect: Defect)
        throws
    {
        let authority = try CertificateAuthority(adjusting: defect.adjust)
        var limits = VerifierLimits.standard
        limits.headerSegmentBytesMax = 32 << 10
        let verifier = Verifier(
            configuration: VerifierConfiguration(apps: [try Minted.app(trusting: [authority])], limits: limits))
        let body = try authority.sign(TransactionFields().json)
        #expect(verifier.reason(body) == defect.reason)
        #expect(verifier.reason(body) == defect.reason, "with what is known of the chain")
    }

    /// Only a key on P-256 makes signatures of 64 bytes: another one is found by its certificate.
    @Test func `a leaf on P-384 is not for this purpose`() throws {
        let authority = try CertificateAuthority { (blueprint) throws(KeyError) in
            blueprint.leafKey = try .generate(.p384)
        }
        let body = AppleLibrary.unsigned(authority.chain, signedAt: Minted.signedSeconds)
        let verifier = try Minted.verifier(trusting: authority)
        #expect(verifier.reason(body) == .certificatePurpose)
    }

    /// The signature of r = G.x and s = SHA-256 of the message is valid under a key of zero.
    @Test func `a leaf whose key is the point at infinity verifies no signature`() throws {
        let generator = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
        let blueprint = try AuthorityBlueprint(name: "Infinite", validity: CertificateAuthority.standardValidity)
        var broken = blueprint
        broken.leaf.subjectPublicKeyInfo = BrokenKey.atInfinity(.p256)
        let (authority, foreign) = (try CertificateAuthority(broken), try Minted.authority.get())
        let dot = Array(".".utf8)
        let signed = authority.headerSegment + dot + Base64Text.url(TransactionFields().json)
        let r = try #require(SHA256Digest(hex: generator)).bytes
        let body = signed + dot + Base64Text.url(r + SHA256.digest(signed).bytes)
        #expect(try Minted.verifier(trusting: authority).reason(body) == .certificateMalformed)
        // It is no certificate, whatever root it names.
        #expect(try Minted.verifier(trusting: foreign).reason(body) == .certificateMalformed)
    }

    @Test func `bytes after a certificate are refused`() throws {
        let authority = try Minted.authority.get()
        for place in 0..<3 {
            var chain = authority.chain
            chain[place].append(0)
            let header = CertificateAuthority.headerSegment(certificates: chain)
            let body = try authority.sign(TransactionFields().json, headerSegment: header)
            #expect(try Minted.verifier().reason(body) == .certificateMalformed)
        }
    }

    @Test func `an authority that copies all of Apple's names is not trusted`() throws {
        let copy = try CertificateAuthority(name: "Trusted")
        let body = try copy.sign(TransactionFields().json)
        #expect(try Minted.verifier().reason(body) == .chainInvalid)
        let trusted = try Minted.authority.get()
        let header = CertificateAuthority.headerSegment(certificates: [copy.leaf, copy.intermediate, trusted.root])
        let dressed = try copy.sign(TransactionFields().json, headerSegment: header)
        #expect(try Minted.verifier().reason(dressed) == .chainInvalid)
        let foreign = try CertificateAuthority(name: "Foreign")
        #expect(try Minted.verifier().reason(foreign.sign(TransactionFields().json)) == .rootUntrusted)
    }

    @Test func `the third certificate is not believed under a configured root`() throws {
        let authority = try Minted.authority.get()
        let foreign = try CertificateAuthority(name: "Foreign")
        let header = CertificateAuthority.headerSegment(certificates: [
            authority.leaf, authority.intermediate, foreign.root,
        ])
        let body = try authority.sign(TransactionFields().json, headerSegment: header)
        let item = try #require(try Minted.verifier().items(body).first)
        #expect(item.verification.root == SHA256.digest(authority.root))
    }
}
