import JSON
import OpenSSL
import TestSupport
import Testing

/// Google's Wycheproof cases for ECDSA on P-256 with SHA-256 and r ‖ s.
@Suite(.needsSharedData)
struct WycheproofTests {
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
                if test.signature.count != 64 {
                    #expect(check == .wrongLength, "case \(test.id): \(test.comment)")
                }
                count += 1
            }
        }
        #expect(document.root["numberOfTests"]?.int64 == Int64(count))
    }

    private func read(_ item: JSONValue) throws -> Case {
        try Case(
            id: #require(item["tcId"]?.int64),
            comment: #require(item["comment"]?.string),
            message: P256Case.bytes(hex: #require(item["msg"]?.string)),
            signature: P256Case.bytes(hex: #require(item["sig"]?.string)),
            isValid: #require(item["result"]?.string) == "valid"
        )
    }
}
