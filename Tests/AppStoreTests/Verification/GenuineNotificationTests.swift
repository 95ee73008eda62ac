import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing

/// A notification that Apple's production chain signed, against the pinned root.
@Suite(.needsSharedData) struct GenuineNotificationTests {
    static let bundleID = "com.Abilities"

    static func body() throws -> [UInt8] { try SharedData.vector("jws/imdhemy-test-notification-signed-payload.json") }

    static func token() throws -> [UInt8] {
        let root = try JSONDocument(parsing: body()).root
        return try #require(root["signedPayload"]?.stringBytes)
    }

    static func verifier(bundleID: String = bundleID, environment: Environment = .sandbox, roots: [Certificate] = [])
        -> Verifier
    { .of(bundleID, environment, roots: roots) }

    @Test func `genuine payloads are accepted, and their bytes are kept`() throws {
        let verifier = Self.verifier()
        for body in [try Self.body(), try Self.token()] {
            let item = try #require(try verifier.items(body).first)
            #expect(item.bundleID?.text == Self.bundleID && item.environment == .sandbox)
            #expect(item.observedNotification?.type == "TEST")
            #expect(item.transaction == nil && item.renewalInfo == nil)
            #expect(item.verification.trust == .apple)
            #expect(item.verification.root == AppleRoots.jws)
            #expect(item.verification.method == .jws)
            #expect(item.verification.signedDate.milliseconds == 1_662_122_492_884)
            #expect(item.verification.leaf.hex == "87da61ce27a91db54a38618657dffec761f095047c90f59c09d9fd40589b4890")
        }
        #expect(verifier.chainsCached == 1)
    }

    @Test func `it is accepted only for its own app and environment`() throws {
        let body = try Self.body()
        #expect(Self.verifier(bundleID: "com.abilities").reason(body) == .bundleMismatch)
        #expect(Self.verifier(environment: .production).reason(body) == .environmentMismatch)
    }

    @Test func `an app with a custom root does not accept Apple's root`() throws {
        let authority = try Minted.authority.get()
        let verifier = Self.verifier(roots: [try Minted.root(authority)])
        #expect(verifier.reason(try Self.body()) == .rootUntrusted)
    }

    @Test func `Apple's root among the custom ones counts as Apple`() throws {
        let der = try SharedData.vector("roots/AppleRootCA-G3.cer")
        let verifier = Self.verifier(roots: [try Certificate(der: der)])
        let item = try #require(try verifier.items(try Self.body()).first)
        #expect(item.verification.trust == .apple)
    }

    @Test func `Apple's receipt root vouches for no JWS, even if it is named`() throws {
        let der = try SharedData.vector("roots/AppleIncRootCertificate.cer")
        let verifier = Self.verifier(roots: [try Certificate(der: der)])
        #expect(verifier.reason(try Self.body()) == .rootUntrusted)
    }

    /// A single verifier serves all bits: a changed header is verified like a new one, as only a
    /// good signature makes a header known.
    @Test func `every flipped bit is refused`() throws {
        let token = try Self.token()
        let verifier = Self.verifier()
        _ = try verifier.items(token)
        var accepted: [Int] = []
        for bit in 0..<token.count * 8 {
            var forged = token
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            if verifier.reason(forged) == nil { accepted.append(bit) }
        }
        #expect(accepted == [])
        #expect(verifier.chainsCached == 1)
    }

    @Test func `a flipped bit is refused by a verifier that knows no chain, too`() throws {
        let token = try Self.token()
        for index in stride(from: 0, to: token.count, by: 53) {
            var forged = token
            forged[index] ^= 1
            #expect(Self.verifier().reason(forged) != nil, "byte \(index)")
        }
    }

    @Test func `every cut is refused`() throws {
        let token = try Self.token()
        let verifier = Self.verifier()
        for count in stride(from: 0, to: token.count, by: 61) {
            #expect(verifier.reason(Array(token[..<count])) != nil)
        }
    }
}
