import OpenSSL
import Simulation
import Testing

struct CertificateTests {
    @Test func `a minted chain is what its builder says`() throws {
        let chain = try MintedChain()
        let (root, leaf) = try (chain.parsedRoot(), chain.parsedLeaf())
        #expect(leaf.issuance(by: root) == .named && leaf.isSigned(by: root))
        #expect(root.isCA && !leaf.isCA && root.pathLengthMax == nil)
        #expect(root.keyKind == .p384 && leaf.keyKind == .p256 && leaf.hasNamedCurve)
        #expect(leaf.validity == MintedChain.validity)
        #expect(leaf.fingerprint == SHA256.digest(leaf.der))
        #expect(try Certificate.all(inFile: Array((root.pem + leaf.pem).utf8)).count == 2)
    }

    @Test func `a path length is read`() throws {
        var chain = try MintedChain()
        chain.root.pathLengthMax = 3
        #expect(try chain.parsedRoot().pathLengthMax == 3)
    }

    @Test func `a forged signature and a foreign key differ from a name that differs`() throws {
        let chain = try MintedChain()
        let impostor = try MintedChain()
        let leaf = try chain.parsedLeaf()
        #expect(try leaf.issuance(by: impostor.parsedRoot()) == .keyIdentifierMismatch)
        #expect(try !leaf.isSigned(by: impostor.parsedRoot()))
        #expect(leaf.issuance(by: leaf) == .nameMismatch)

        var flipped = leaf.der
        flipped[flipped.count - 1] ^= 1
        #expect(try !Certificate(der: flipped).isSigned(by: chain.parsedRoot()))
    }

    @Test func `an authority key identifier may be absent`() throws {
        var chain = try MintedChain()
        chain.leaf.authorityKeyIdentifier = nil
        #expect(try chain.parsedLeaf().issuance(by: chain.parsedRoot()) == .named)
    }

    @Test(arguments: [
        (PrivateKey.Algorithm.p256, KeyKind.p256, true), (.p384, .p384, true), (.p256ExplicitParameters, .p256, false),
        (.rsa(bits: 2048), .rsa(bits: 2048), true), (.rsa(bits: 1024), .rsa(bits: 1024), true),
    ]) func `a key's kind and size are read`(algorithm: PrivateKey.Algorithm, kind: KeyKind, hasNamedCurve: Bool) throws
    {
        let chain = try MintedChain(rootKey: .generate(.p256), leafKey: .generate(algorithm))
        let leaf = try chain.parsedLeaf()
        #expect(leaf.keyKind == kind)
        #expect(leaf.hasNamedCurve == hasNamedCurve)
        #expect((leaf.p256Key != nil) == (kind == .p256))
        #expect(try leaf.isSigned(by: chain.parsedRoot()))
    }

    @Test(arguments: [SignatureDigest.sha1, .sha224, .sha256, .sha384, .sha512])
    func `the signature's digest is read for both families`(digest: SignatureDigest) throws {
        for algorithm in [PrivateKey.Algorithm.p384, .rsa(bits: 2048)] {
            var chain = try MintedChain(rootKey: .generate(algorithm), leafKey: .generate(.p256))
            chain.leaf.signatureDigest = digest
            #expect(try chain.parsedLeaf().signatureDigest == digest)
        }
    }

    @Test func `extensions are counted, and critical ones nobody knows are named`() throws {
        var chain = try MintedChain()
        let marker = "1.2.840.113635.100.6.11.1"
        chain.leaf.extensions = [
            .init(oid: marker), .init(oid: marker), .init(oid: "1.2.3.4", isCritical: true),
            .init(oid: "2.5.29.37", isCritical: true, value: DER.sequence([])),
        ]
        let leaf = try chain.parsedLeaf()
        #expect(leaf.occurrences(ofExtension: marker) == 2)
        #expect(leaf.occurrences(ofExtension: "1.2.3.5") == 0)
        #expect(leaf.occurrences(ofExtension: "not an identifier") == 0)
        #expect(leaf.unknownCriticalExtensions == ["1.2.3.4"])
    }

    @Test func `a key usage that is absent restricts nothing`() throws {
        var chain = try MintedChain()
        chain.leaf.keyUsage = nil
        chain.leaf.isCA = nil
        let leaf = try chain.parsedLeaf()
        #expect(leaf.keyUsage == nil && !leaf.isCA)
    }

    @Test func `one certificate is shared by threads`() async throws {
        let chain = try MintedChain()
        let (root, leaf) = try (chain.parsedRoot(), chain.parsedLeaf())
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 { group.addTask { leaf.isSigned(by: root) && root.isSigned(by: root) } }
            for await isSigned in group { #expect(isSigned) }
        }
    }
}
