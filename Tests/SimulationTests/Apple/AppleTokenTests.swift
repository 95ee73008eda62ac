import OpenSSL
import Simulation
import TestSupport
import Testing

/// The server's check of the token that a client signs.
@Suite(.hopeless) struct AppleTokenTests {
    private static let seconds = AppleClient.now / 1_000

    /// Members that differ from those of a good token, and the fault that the server sees.
    private static let faults: [([String: String], [String: String], AppleTokenFault)] = [
        (["alg": "\"none\""], [:], .malformed), (["typ": "\"JWS\""], [:], .malformed),
        (["kid": "\"KEY2\""], [:], .unknownKey), ([:], ["iss": "\"another\""], .wrongIssuer),
        ([:], ["aud": "\"appstoreconnect-v2\""], .wrongAudience), ([:], ["bid": "\"com.example.stranger\""], .wrongApp),
        ([:], ["exp": "\(seconds + 3_601)"], .badLifetime), ([:], ["exp": "null"], .badLifetime),
        ([:], ["exp": "\(seconds - 1)"], .badLifetime),
        ([:], ["iat": "\(seconds - 60)", "exp": "\(seconds)"], .expired),
        ([:], ["iat": "\(seconds + 1)"], .notYetValid),
    ]

    @Test(arguments: faults.indices) func `a token with one fault is 401 without a body`(index: Int) async throws {
        let (header, claims, fault) = Self.faults[index]
        let client = try AppleClient()
        let token = try client.token(header: header, claims: claims)
        let answer = try await client.send("/inApps/v2/history/1", token: token)
        #expect(answer.status == 401 && answer.body.isEmpty)
        #expect(client.server.requests.map(\.tokenFault) == [fault])
    }

    @Test func `a token of another key, or with a signature in DER, is refused`() async throws {
        let client = try AppleClient()
        let foreign = try client.token(key: .generate(.p256))
        #expect(try await client.send("/inApps/v2/history/1", token: foreign).status == 401)
        let good = try client.token()
        let signed = Array(good.utf8.prefix(good.utf8.count - 87))
        let der = try Base64Text.url(client.key.sign(signed, digest: .sha256))
        let token = String(decoding: signed + [UInt8(ascii: ".")] + der, as: UTF8.self)
        #expect(try await client.send("/inApps/v2/history/1", token: token).status == 401)
        #expect(client.server.requests.map(\.tokenFault) == [.badSignature, .badSignature])
    }

    @Test func `a replaced key counts from its registration on`() async throws {
        let client = try AppleClient()
        let next = try PrivateKey.generate(.p256)
        let token = try client.token(key: next)
        #expect(try await client.send("/inApps/v2/history/1", token: token).status == 401)
        client.server.register(
            try AppleAPIKey(id: "KEY1", issuerID: "issuer", bundleIDs: ["com.example.pro"], key: next))
        #expect(try await client.send("/inApps/v2/history/1", token: token).status == 404)
        client.server.revoke(keyID: "KEY1")
        #expect(try await client.send("/inApps/v2/history/1", token: token).status == 401)
    }
}
