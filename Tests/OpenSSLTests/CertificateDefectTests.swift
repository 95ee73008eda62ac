import OpenSSL
import Simulation
import Testing

/// Certificates that our rules refuse, each for one defect in an otherwise good one.
struct CertificateDefectTests {
    private func error(_ change: (inout MintedChain) -> Void) throws -> CertificateError? {
        var chain = try MintedChain()
        change(&chain)
        let der = try chain.leafDER()
        do {
            _ = try Certificate(der: der)
            return nil
        } catch { return error }
    }

    @Test(arguments: [1, 2, 4]) func `only version 3 is read`(version: Int) throws {
        #expect(try error { $0.leaf.version = version } != nil)
    }

    @Test(arguments: [
        (UInt8(0x17), "231114221320Z", true), (0x17, "500101000000Z", true), (0x17, "240229000000Z", true),
        (0x17, "230229000000Z", false), (0x17, "2311142213Z", false), (0x17, "231114221320+0000", false),
        (0x17, "231314221320Z", false), (0x17, "231100221320Z", false), (0x17, "231131221320Z", false),
        (0x17, "231114241320Z", false), (0x17, "231114226020Z", false), (0x17, "231114221360Z", false),
        (0x17, "231114221320", false), (0x17, "23111422132 Z", false), (0x17, "231114221320z", false),
        (0x17, "231114221320+", false), (0x17, "", false), (0x18, "20231114221320Z", false),
        (0x18, "19491231235959Z", true), (0x18, "20500101000000.5Z", false), (0x18, "20500101000000+0000", false),
    ]) func `a date has the one form of RFC 5280`(tag: UInt8, text: String, isValid: Bool) throws {
        let problem = try error { chain in
            chain.leaf.notBeforeElement = DER.element(tag, Array(text.utf8))
            chain.leaf.validity = 0...4_000_000_000
        }
        // OpenSSL itself refuses some of them before they are looked at.
        #expect((problem == nil) == isValid, "\(text): \(String(describing: problem))")
    }

    @Test func `the last instant that can be written is 9999`() throws {
        var chain = try MintedChain()
        chain.leaf.notAfterElement = DER.element(0x18, Array("99991231235959Z".utf8))
        #expect(try chain.parsedLeaf().validity.upperBound == 253_402_300_799)
    }

    @Test func `dates survive their text`() throws {
        let leapDay: Int64 = 1_709_164_800
        for second in [-631_152_000, -1, 0, leapDay, 2_524_607_999, 2_524_608_000] as [Int64] {
            var chain = try MintedChain()
            chain.leaf.validity = second...4_102_444_800
            #expect(try chain.parsedLeaf().validity == second...4_102_444_800)
        }
    }

    @Test func `a window that ends before it begins is refused`() throws {
        #expect(try error { $0.leaf.notAfterElement = DER.element(0x17, Array("200101000000Z".utf8)) } == .invalidDate)
    }

    @Test func `an extension that OpenSSL knows and cannot read is refused`() throws {
        let garbled = CertificateBuilder.Extension(oid: "2.5.29.19", value: [1, 2, 3])
        #expect(
            try error {
                $0.leaf.isCA = nil
                $0.leaf.extensions = [garbled]
            } == .invalidExtension)
    }

    @Test func `basic constraints that occur twice are refused`() throws {
        let second = CertificateBuilder.Extension(oid: "2.5.29.19", value: DER.sequence([DER.boolean(true)]))
        #expect(try error { $0.leaf.extensions = [second] } == .invalidExtension)
    }

    @Test func `a negative path length is refused`() throws {
        let negative = CertificateBuilder.Extension(
            oid: "2.5.29.19", value: DER.sequence([DER.boolean(true), [0x02, 0x01, 0xFF]]))
        #expect(
            try error {
                $0.leaf.isCA = nil
                $0.leaf.extensions = [negative]
            } == .invalidExtension)
    }

    @Test func `BER is refused where OpenSSL would read it`() throws {
        let der = try MintedChain().leafDER()
        // The outer SEQUENCE's length in one byte more than it needs.
        #expect(der.prefix(2) == [0x30, 0x82])
        let padded = [0x30, 0x83, 0x00] + der[2...]
        #expect(throws: CertificateError.notDER) { try Certificate(der: padded) }
        // The same with an indefinite length.
        let indefinite = [0x30, 0x80] + der[4...] + [0, 0]
        #expect(throws: CertificateError.self) { try Certificate(der: indefinite) }
    }

    /// Each row replaces bytes of a good certificate by as many; OpenSSL would read most results.
    @Test(
        arguments: [
            // A critical extension, with a BOOLEAN that is neither 00 nor FF.
            ([0x01, 0x01, 0xFF], [0x01, 0x01, 0x01]),
            // The serial number 384, and 1 in two bytes.
            ([0x02, 0x02, 0x01, 0x80], [0x02, 0x02, 0x00, 0x01]),
            // The subject: a text in pieces, a NULL with content, a primitive SEQUENCE.
            ([0x0C, 0x04] + "Leaf".utf8, [0x2C, 0x04, 0x0C, 0x02] + "af".utf8),
            ([0x0C, 0x04] + "Leaf".utf8, [0x05, 0x04] + "Leaf".utf8),
            ([0x0C, 0x04] + "Leaf".utf8, [0x10, 0x04] + "Leaf".utf8),
        ] as [([UInt8], [UInt8])]) func `a value in another form than DER's is refused`(good: [UInt8], bad: [UInt8])
        throws
    {
        var chain = try MintedChain()
        chain.leaf.serialNumber = 384
        var der = try chain.leafDER()
        #expect(throws: Never.self) { try Certificate(der: der) }
        der.replaceSubrange(try #require(der.firstRange(of: good)), with: bad)
        #expect(throws: CertificateError.notDER) { try Certificate(der: der) }
    }

    @Test(arguments: [(10, nil), (40, CertificateError.notDER)])
    func `a certificate's elements are at most 24 levels deep`(levels: Int, problem: CertificateError?) throws {
        let parameters = (0..<levels).reduce([0x05, 0x00]) { nested, _ in DER.sequence([nested]) }
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.840.113549.1.1.1"), parameters])
        let key = DER.sequence([algorithm, DER.bitString([0x30, 0x00])])
        #expect(try error { $0.leaf.subjectPublicKeyInfo = key } == problem)
    }

    @Test(arguments: [PrivateKey.Algorithm.p256, .p384])
    func `a key that is no point of its curve is refused with its certificate`(algorithm: PrivateKey.Algorithm) throws {
        let key = try PrivateKey.generate(algorithm).subjectPublicKeyInfo
        let pointBytes = algorithm == .p256 ? 65 : 97
        let algorithmBytes = Array(key.dropFirst(2).prefix(key.count - 2 - pointBytes - 3))
        func error(point: [UInt8]) throws -> CertificateError? {
            let info = DER.sequence([algorithmBytes, DER.bitString(point)])
            return try self.error { $0.leaf.subjectPublicKeyInfo = info }
        }
        let point = Array(key.suffix(pointBytes))
        #expect(try error(point: point) == nil)
        #expect(try error(point: [0]) == .invalidKey)
        #expect(try error(point: []) == .invalidKey)
        #expect(try error(point: Array(point.dropLast())) == .invalidKey)
        #expect(try error(point: point + [0]) == .invalidKey)
        #expect(try error(point: Array(point.dropLast()) + [point[point.count - 1] ^ 1]) == .invalidKey)
        let beyond = [4] + [UInt8](repeating: 0xFF, count: pointBytes - 1)
        #expect(try error(point: beyond) == .invalidKey)
    }

    @Test func `a key at infinity is refused`() throws {
        let curve = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        let infinity = DER.sequence([curve, DER.bitString([0])])
        #expect(P256PublicKey(subjectPublicKeyInfo: infinity) == nil)
        #expect(P256PublicKey(subjectPublicKeyInfo: try PrivateKey.generate(.p256).subjectPublicKeyInfo) != nil)
    }

    @Test func `what follows the certificate is refused`() throws {
        let der = try MintedChain().leafDER()
        #expect(throws: CertificateError.trailingBytes) { try Certificate(der: der + [0]) }
        #expect(throws: CertificateError.trailingBytes) { try Certificate(der: der + der) }
    }

    @Test(arguments: [[], [0x30], [0x30, 0x00], [0x30, 0x80], [0x05, 0x00], Array("abc".utf8)])
    func `bytes that are not a certificate are refused`(bytes: [UInt8]) {
        #expect(throws: CertificateError.self) { try Certificate(der: bytes) }
    }

    @Test func `a file without a certificate is no file of certificates`() {
        #expect(throws: CertificateError.notPEM) { try Certificate.all(inFile: []) }
        #expect(throws: CertificateError.notPEM) { try Certificate.all(inFile: [1, 2, 3]) }
        let block = PEM.encode([1, 2, 3], label: "CERTIFICATE")
        #expect(throws: CertificateError.self) { try Certificate.all(inFile: Array(block.utf8)) }
    }
}
