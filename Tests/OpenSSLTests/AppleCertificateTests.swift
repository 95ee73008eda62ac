import OpenSSL
import TestSupport
import Testing

/// Apple's real chain and the test chain of Apple's server libraries.
@Suite(.needsSharedData) struct AppleCertificateTests {
    private func constant(_ name: String) throws -> Certificate {
        let path = "apple-library/chain-constants/\(name)_BASE64_ENCODED.der"
        return try Certificate(der: SharedData.vector(path))
    }

    @Test func `Apple's own chain is read whole`() throws {
        let root = try constant("REAL_APPLE_ROOT")
        let intermediate = try constant("REAL_APPLE_INTERMEDIATE")
        let leaf = try constant("REAL_APPLE_SIGNING_CERTIFICATE")
        #expect(root.fingerprint.hex == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        #expect(leaf.issuance(by: intermediate) == .named)
        #expect(intermediate.issuance(by: root) == .named)
        #expect(leaf.issuance(by: root) == .nameMismatch)
        #expect(leaf.isSigned(by: intermediate) && intermediate.isSigned(by: root))
        #expect(!leaf.isSigned(by: root) && !intermediate.isSigned(by: leaf))
        #expect([root, intermediate, leaf].map(\.keyKind) == [.p384, .p384, .p256])
        #expect([root, intermediate, leaf].map(\.isCA) == [true, true, false])
        #expect([root, intermediate, leaf].map(\.pathLengthMax) == [nil, 0, nil])
        #expect([root, intermediate, leaf].map(\.hasNamedCurve) == [true, true, true])
        #expect([root, intermediate, leaf].flatMap(\.unknownCriticalExtensions) == [])
        #expect([root, intermediate, leaf].allSatisfy { $0.signatureDigest == .sha384 })
        #expect(root.keyUsage == [.keyCertSign, .crlSign])
        #expect(leaf.keyUsage == .digitalSignature)
        #expect(leaf.occurrences(ofExtension: "1.2.840.113635.100.6.11.1") == 1)
        #expect(leaf.occurrences(ofExtension: "1.2.840.113635.100.6.2.1") == 0)
        #expect(intermediate.occurrences(ofExtension: "1.2.840.113635.100.6.2.1") == 1)
        #expect(leaf.p256Key != nil && root.p256Key == nil)
    }

    /// 2014-04-30 18:19:06 to 2039-04-30 18:19:06, UTC.
    @Test func `a window is its first and its last second`() throws {
        let root = try constant("REAL_APPLE_ROOT")
        #expect(root.validity == 1_398_881_946...2_187_800_346)
    }

    @Test func `the RSA root of receipts is read as well`() throws {
        let root = try Certificate(der: SharedData.vector("roots/AppleIncRootCertificate.cer"))
        #expect(root.keyKind == .rsa(bits: 2048))
        #expect(root.signatureDigest == .sha1)
        #expect(root.isSigned(by: root) && root.issuance(by: root) == .named)
    }

    @Test func `every certificate of Apple's libraries parses`() throws {
        let names = SharedData.vectorNames(in: "apple-library/chain-constants")
        #expect(names.count >= 9)
        for name in names {
            let der = try SharedData.vector("apple-library/chain-constants/" + name)
            #expect(throws: Never.self, "\(name)") { _ = try Certificate(der: der) }
        }
        let files = SharedData.vectorNames(in: "apple-library/certs").filter {
            $0.hasSuffix(".pem") || $0.hasSuffix(".der")
        }
        for name in files {
            let file = try SharedData.vector("apple-library/certs/" + name)
            #expect(try Certificate.all(inFile: file).count == 1, "\(name)")
        }
    }

    @Test func `a private key in PEM signs for its certificate`() throws {
        let pem = try SharedData.vector("apple-library/certs/testLeaf.key")
        let leaf = try Certificate.all(inFile: SharedData.vector("apple-library/certs/testLeaf.pem"))
        let key = try PrivateKey(pem: pem)
        let verifier = try P256Verifier(key: #require(leaf.first?.p256Key))
        let signature = try key.sign([1, 2, 3])
        #expect(verifier.verify(signature: signature, over: [1, 2, 3]) == .valid)
        #expect(verifier.verify(signature: signature, over: [1, 2, 4]) == .invalid)
    }

    /// Every prefix, and every byte changed to a few others: an error or a certificate.
    @Test func `garbage never traps`() throws {
        let der = try constant("REAL_APPLE_SIGNING_CERTIFICATE").der
        for count in 0..<der.count {
            #expect(throws: CertificateError.self) { try Certificate(der: Array(der[..<count])) }
        }
        #expect(throws: CertificateError.trailingBytes) { try Certificate(der: der + [0]) }
        for index in der.indices {
            for value in [0, 0x80, 0xFF, der[index] ^ 1] as [UInt8] {
                var changed = der
                changed[index] = value
                guard let certificate = try? Certificate(der: changed) else { continue }
                _ = (certificate.unknownCriticalExtensions, certificate.issuance(by: certificate))
            }
        }
    }
}
