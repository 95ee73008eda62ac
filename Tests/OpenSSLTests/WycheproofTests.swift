import JSON
import TestSupport
import Testing

@testable import OpenSSL

/// Google's Wycheproof cases for ECDSA on P-256 with SHA-256, each in both ways that there are.
@Suite(.needsSharedData) struct WycheproofTests {
    struct Case {
        let id: Int64
        let comment: String
        let message: [UInt8]
        let signature: [UInt8]
        let isValid: Bool
    }

    @Test func `every case has Wycheproof's verdict`() throws {
        let file = "wycheproof/ecdsa_secp256r1_sha256_p1363_test.json"
        let document = try JSONDocument(parsing: SharedData.vector(file))
        let groups = try #require(document.root["testGroups"])
        var count = 0
        for group in groups.elements {
            let spki = try P256Case.bytes(hex: #require(group["publicKeyDer"]?.string))
            let key = try #require(P256PublicKey(subjectPublicKeyInfo: spki))
            let verifier = P256Verifier(key: key)
            let tabled = P256Verifier(key: key)
            tabled.use(try #require(P256KeyTable(key: key)))
            for item in try #require(group["tests"]).elements {
                let test = try read(item)
                let check = verifier.verify(signature: test.signature, over: test.message)
                #expect((check == .valid) == test.isValid, "case \(test.id): \(test.comment)")
                let other = tabled.verify(signature: test.signature, over: test.message)
                #expect(other == check, "case \(test.id) by a table: \(test.comment)")
                if test.signature.count != 64 { #expect(check == .wrongLength, "case \(test.id): \(test.comment)") }
                count += 1
            }
        }
        #expect(document.root["numberOfTests"]?.int64 == Int64(count))
    }

    /// The verdicts are about the DER besides, which no JWS contains, so only a valid case's is
    /// expected; what no r ‖ s can hold is no case here.
    @Test func `a table makes no difference to the cases in DER`() throws {
        let file = "wycheproof/ecdsa_secp256r1_sha256_test.json"
        let document = try JSONDocument(parsing: SharedData.vector(file))
        var compared = 0
        var valid = 0
        for group in try #require(document.root["testGroups"]).elements {
            let spki = try P256Case.bytes(hex: #require(group["publicKeyDer"]?.string))
            let key = try #require(P256PublicKey(subjectPublicKeyInfo: spki))
            let pair = try P256KeyTableTests.Pair(key)
            for item in try #require(group["tests"]).elements {
                let test = try read(item)
                guard let raw = try? P256SignatureBytes.raw(fromDER: test.signature) else {
                    #expect(!test.isValid, "case \(test.id): \(test.comment)")
                    continue
                }
                let check = pair.check(raw, SHA256.digest(test.message))
                try #require(check != nil, "the two ways differ: case \(test.id), \(test.comment)")
                #expect(check == .valid || !test.isValid, "case \(test.id): \(test.comment)")
                compared += 1
                valid += test.isValid ? 1 : 0
            }
        }
        #expect(compared > 250 && valid == 174)
    }

    private func read(_ item: JSONValue) throws -> Case {
        try Case(
            id: #require(item["tcId"]?.int64), comment: #require(item["comment"]?.string),
            message: P256Case.bytes(hex: #require(item["msg"]?.string)),
            signature: P256Case.bytes(hex: #require(item["sig"]?.string)),
            isValid: #require(item["result"]?.string) == "valid")
    }
}
