import OpenSSL
import Testing

struct P256VerifierTests {
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
        0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
    private static let one = [UInt8](repeating: 0, count: 31) + [1]
    private static let zero = [UInt8](repeating: 0, count: 32)
    private static let highest = [UInt8](repeating: 0xFF, count: 32)

    @Test func `a verifier serves many records`() throws {
        let key = try PrivateKey.generate(.p256)
        let verifier = try P256Verifier(key: #require(key.p256PublicKey))
        for index in 0..<500 {
            let message = Array("record \(index)".utf8)
            let signature = try key.sign(message)
            #expect(verifier.verify(signature: signature, over: message) == .valid)
            var flipped = signature
            flipped[index % 64] ^= 1
            #expect(verifier.verify(signature: flipped, over: message) == .invalid)
            #expect(verifier.verify(signature: signature, over: message + [0]) == .invalid)
        }
    }

    @Test(arguments: [(zero, one), (one, zero), (order, one), (one, order), (highest, one)])
    func `r and s out of range have an error of their own`(r: [UInt8], s: [UInt8]) throws {
        let key = try PrivateKey.generate(.p256)
        let verifier = try P256Verifier(key: #require(key.p256PublicKey))
        #expect(verifier.verify(signature: r + s, over: []) == .outOfRange)
    }

    @Test func `the ends of the range are in it`() throws {
        let key = try PrivateKey.generate(.p256)
        let verifier = try P256Verifier(key: #require(key.p256PublicKey))
        var last = Self.order
        last[31] -= 1
        #expect(verifier.verify(signature: Self.one + last, over: []) == .invalid)
        #expect(verifier.verify(signature: last + Self.one, over: []) == .invalid)
    }

    /// The signature (r, n−s) is as valid as (r, s); Apple does not forbid the high one, so both
    /// are accepted.
    @Test func `a high s is allowed`() throws {
        let key = try PrivateKey.generate(.p256)
        let verifier = try P256Verifier(key: #require(key.p256PublicKey))
        let signature = try key.sign([7])
        var borrow = 0
        var other = Self.zero
        for index in (0..<32).reversed() {
            let difference = Int(Self.order[index]) - Int(signature[32 + index]) - borrow
            other[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        #expect(verifier.verify(signature: signature[..<32] + other, over: [7]) == .valid)
    }

    @Test func `any length but 64 is refused, DER too`() throws {
        let key = try PrivateKey.generate(.p256)
        let verifier = try P256Verifier(key: #require(key.p256PublicKey))
        let signature = try key.sign([1])
        let der = try key.sign([1], digest: .sha256)
        for wrong in [[], Array(signature.dropLast()), signature + [0], der] {
            #expect(verifier.verify(signature: wrong, over: [1]) == .wrongLength)
        }
    }

    @Test func `only a P-256 key makes a verifier`() throws {
        let other = try PrivateKey.generate(.p384)
        #expect(other.p256PublicKey == nil)
        #expect(P256PublicKey(subjectPublicKeyInfo: other.subjectPublicKeyInfo) == nil)
        let spki = try PrivateKey.generate(.p256).subjectPublicKeyInfo
        #expect(P256PublicKey(subjectPublicKeyInfo: spki) != nil)
        #expect(P256PublicKey(subjectPublicKeyInfo: spki + [0]) == nil)
        #expect(P256PublicKey(subjectPublicKeyInfo: []) == nil)
        #expect(throws: KeyError.notP256) { try other.sign([1]) }
    }
}
