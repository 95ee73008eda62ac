import JSON
import OpenSSL
import Simulation
import TestSupport
import Testing

@testable import AppStore

/// Google's Wycheproof cases for JWS with ES256, before the parts that read and verify a JWS.
///
/// Their key comes with the case and not in `x5c`, so the header is asked for its algorithm alone.
@Suite(.needsSharedData) struct WycheproofJWSTests {
    /// Cases about the stated use of a JWK: no token here has a JWK.
    static let aboutJWK: Set<String> = ["rejectWrongUse", "rejectWrongKeyOps"]

    @Test func `every ES256 case has Wycheproof's verdict`() throws {
        let file = "wycheproof/json_web_signature_test.json"
        let root = try JSONDocument(parsing: SharedData.vector(file)).root
        var checked = 0
        var listed: Set<String> = []
        for group in try #require(root["testGroups"]).elements {
            guard let jwk = group["public"], jwk["crv"]?.string == "P-256" else { continue }
            let key = try Self.key(jwk)
            let verifier = P256Verifier(key: key)
            let tabled = P256Verifier(key: key)
            tabled.use(try #require(P256KeyTable(key: key)))
            for test in try #require(group["tests"]).elements {
                let comment = try #require(test["comment"]?.string)
                guard !Self.aboutJWK.contains(comment) else {
                    listed.insert(comment)
                    continue
                }
                let isValid = test["result"]?.string == "valid"
                let jws = try #require(test["jws"]?.stringBytes)
                let id = test["tcId"]?.int64 ?? 0
                #expect(Self.isGood(jws, verifier) == isValid, "case \(id): \(comment)")
                #expect(Self.isGood(jws, tabled) == isValid, "case \(id) by a table: \(comment)")
                #expect(try Minted.verifier().reason(jws) != nil, "case \(id): \(comment)")
                checked += 1
            }
        }
        #expect(checked == 39 && listed == Self.aboutJWK)
    }

    private static func isGood(_ jws: [UInt8], _ verifier: P256Verifier) -> Bool {
        let token = Token(jws, jws.indices)
        guard let segments = try? CompactJWS(token),
            let header = Base64.url.decode(jws.span.extracting(segments.header)),
            Base64.url.decode(jws.span.extracting(segments.payload)) != nil,
            let signature = Base64.url.decode(jws.span.extracting(segments.signature)), namesES256(header)
        else { return false }
        let check = verifier.verify(signature: signature.span, over: jws.span.extracting(segments.signed))
        return check == .valid
    }

    /// The first rule that such a header breaks is the one after its algorithm.
    private static func namesES256(_ header: [UInt8]) -> Bool {
        do throws(Fault) {
            _ = try JWSHeader(decoding: header, acceptsSingleCertificate: false, limits: .standard)
            return true
        } catch { return error.reason == .x5cMissing }
    }

    private static func key(_ jwk: JSONValue) throws -> P256PublicKey {
        var coordinates: [UInt8] = []
        for value in [jwk["x"], jwk["y"]] {
            let text = try #require(value?.string)
            coordinates += try #require(Base64Decoding.url(text))
        }
        let algorithm = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        let der = DER.sequence([algorithm, DER.bitString([0x04] + coordinates)])
        return try #require(P256PublicKey(subjectPublicKeyInfo: der))
    }
}
