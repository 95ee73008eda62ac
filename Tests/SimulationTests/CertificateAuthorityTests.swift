import JSON
import OpenSSL
import Testing
import Simulation

struct CertificateAuthorityTests {
    @Test func `the chain has the form of Apple's`() throws {
        let authority = try CertificateAuthority()
        let root = try Certificate(der: authority.root)
        let intermediate = try Certificate(der: authority.intermediate)
        let leaf = try Certificate(der: authority.leaf)
        #expect(leaf.issuance(by: intermediate) == .named && leaf.isSigned(by: intermediate))
        #expect(intermediate.issuance(by: root) == .named && intermediate.isSigned(by: root))
        #expect([leaf, intermediate, root].map(\.keyKind) == [.p256, .p384, .p384])
        #expect(leaf.occurrences(ofExtension: AppleMarker.leaf) == 1)
        #expect(intermediate.occurrences(ofExtension: AppleMarker.intermediate) == 1)
        // Apple's own header has 4,411 characters.
        #expect((4_000...4_800).contains(authority.headerSegment.count))
    }

    @Test func `what it signs verifies with the leaf's key`() throws {
        let authority = try CertificateAuthority()
        let jws = try authority.sign(TransactionFields().json)
        let key = try #require(Certificate(der: authority.leaf).p256Key)
        let segments = jws.split(separator: UInt8(ascii: "."))
        #expect(segments.count == 3 && Array(segments[0]) == authority.headerSegment)
        let signature = try #require(decode(segments[2]))
        let verifier = P256Verifier(key: key)
        let signed = Array(segments[0] + [UInt8(ascii: ".")] + segments[1])
        #expect(verifier.verify(signature: signature, over: signed) == .valid)
        #expect(decode(segments[1]) == TransactionFields().json)
    }

    @Test(arguments: Forgery.allCases) func `a forgery differs from the genuine token`(forgery: Forgery) throws {
        let authority = try CertificateAuthority()
        let payload = TransactionFields().json
        let forged = try authority.forge(payload, forgery)
        let segments = forged.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3, let signature = decode(segments[2]) else { return }
        let verifier = try P256Verifier(key: #require(Certificate(der: authority.leaf).p256Key))
        let signed = Array(segments[0] + [UInt8(ascii: ".")] + segments[1])
        let isGenuine = verifier.verify(signature: signature, over: signed) == .valid
        #expect(!isGenuine || Array(segments[0]) != authority.headerSegment)
    }

    @Test func `payloads are JSON with the fields asked for`() throws {
        var fields = TransactionFields()
        fields.productID = nil
        fields.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        fields.overrides = ["purchaseDate": "1.5", "unheardOf": "null"]
        let root = try JSONDocument(parsing: fields.json).root
        #expect(root["productId"] == nil && root["unheardOf"]?.isNull == true)
        #expect(root["purchaseDate"]?.double == 1.5)
        #expect(root["appAccountToken"]?.string == fields.appAccountToken)
    }

    /// Base64url by the inverse of the alphabet.
    ///
    /// `nil` for another character.
    private func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        var bytes: [UInt8] = []
        var bits = 0
        var group = 0
        for character in text {
            guard let value = Array(alphabet.utf8).firstIndex(of: character) else { return nil }
            group = group << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
                group &= (1 << bits) - 1
            }
        }
        return bytes
    }
}
