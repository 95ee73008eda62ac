import JSON
import Testing
import Simulation

@testable import AppStore

/// Bodies that are made to hurt: each ends in a refusal, at a bounded cost.
struct HostileInputTests {
    static func header(_ json: String) -> [UInt8] { Base64Text.url(Array(json.utf8)) }

    static func body(header: [UInt8], payload: [UInt8] = TransactionFields().json) -> [UInt8] {
        header + Array(".".utf8) + Base64Text.url(payload) + Array(".".utf8)
            + Base64Text.url([UInt8](repeating: 1, count: 64))
    }

    @Test func `1,000 certificates are refused`() throws {
        let verifier = try Minted.verifier()
        let short = Array(repeating: #""AAAA""#, count: 1_000).joined(separator: ",")
        let body = Self.body(header: Self.header(#"{"alg":"ES256","x5c":[\#(short)]}"#))
        #expect(verifier.reason(body) == .x5cLength)
        let authority = try Minted.authority.get()
        let long = CertificateAuthority.headerSegment(certificates: Array(repeating: authority.leaf, count: 1_000))
        #expect(verifier.reason(Self.body(header: long)) == .payloadTooLarge)
        let medium = CertificateAuthority.headerSegment(certificates: Array(repeating: authority.leaf, count: 100))
        #expect(verifier.reason(Self.body(header: medium)) == .jwsMalformed)
    }

    @Test func `other numbers of dots are refused`() throws {
        let verifier = try Minted.verifier()
        let token = try Minted.transaction()
        let dots = [UInt8](repeating: UInt8(ascii: "."), count: 1_000_000)
        #expect(verifier.reason(token + Array("..".utf8)) == .jwsMalformed)
        #expect(verifier.reason(token.filter { $0 != UInt8(ascii: ".") }) == .jwsMalformed)
        #expect(verifier.reason(dots) == .jwsMalformed)
        #expect(verifier.reason("..") == .jwsMalformed)
    }

    @Test(arguments: 0..<3) func `padding, whitespace and unused bits in each segment are refused`(segment: Int) throws
    {
        let verifier = try Minted.verifier()
        let parts = try Minted.transaction().split(separator: UInt8(ascii: ".")).map(Array.init)
        for added in ["=", "==", " ", "\n", "A", "+", "/"] {
            var changed = parts
            changed[segment] += Array(added.utf8)
            let body = Array(changed.joined(separator: [UInt8(ascii: ".")]))
            // Whitespace after the last segment surrounds the body, where it is not counted.
            let isAround = segment == 2 && (added == " " || added == "\n")
            #expect((verifier.reason(body) == nil) == isAround, "\(added)")
        }
    }

    @Test func `a body of 10 MB costs nothing but its refusal`() throws {
        let verifier = try Minted.verifier()
        let refusal = try verifier.refusal([UInt8](repeating: UInt8(ascii: "["), count: 10 << 20))
        #expect(refusal.reason == .payloadTooLarge)
        #expect(refusal.detail.contains("10485760"))
    }

    @Test func `a body at the limit is read`() throws {
        let verifier = try Minted.verifier()
        let token = try Minted.transaction()
        let space = [UInt8](repeating: 0x20, count: (1 << 20) - token.count)
        #expect(verifier.reason(space + token) == nil)
        #expect(verifier.reason(space + token + [0x20]) == .payloadTooLarge)
    }

    @Test func `invalid UTF-8 in envelope, header and payload is refused`() throws {
        let verifier = try Minted.verifier()
        let bad: [UInt8] = Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        #expect(verifier.reason(bad) == .envelopeMalformed)
        #expect(verifier.reason(try Minted.sign(bad)) == .payloadMalformed)
        #expect(verifier.reason(Self.body(header: Base64Text.url(bad))) == .jwsMalformed)
        #expect(verifier.reason([0x80, 0x81]) == .bodyUnrecognized)
    }

    @Test func `numbers beyond any machine type are carried`() throws {
        let body = try Minted.transaction {
            $0.overrides["price"] = "1e200000"
            $0.overrides["quantity"] = "99999999999999999999"
            $0.overrides["addedLater"] = "-0.1e-999999"
        }
        let item = try #require(try Minted.verifier().items(body).first)
        #expect(item.malformedFields == 2)
        let price = item.transaction?.json["price"].map { Array($0.rawBytes) }
        #expect(price == Array("1e200000".utf8))
    }

    @Test func `random bytes end in a refusal`() throws {
        let verifier = try Minted.verifier()
        var generator = SystemRandomNumberGenerator()
        for count in 0..<500 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(verifier.reason(bytes) != nil)
            #expect(verifier.reason(Array("eyJ".utf8) + bytes) != nil)
            #expect(verifier.reason(Array("{".utf8) + bytes) != nil)
        }
    }

    @Test func `damaged bodies are refused, or keep their signed payload`() throws {
        let verifier = try Minted.verifier()
        let transaction = try Minted.transaction()
        let body = Body.transaction(transaction)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var damaged = body
            let index = Int.random(in: 0..<body.count, using: &generator)
            damaged[index] = UInt8.random(in: 0...255, using: &generator)
            guard case .success(.items(let items)) = verifier.verify(damaged) else { continue }
            #expect(Array(items[0].transaction?.json.rawBytes ?? []) == TransactionFields().json)
        }
    }

    @Test func `a certificate may have the maximum size and no more`() throws {
        let authority = try Minted.authority.get()
        let size = authority.chain.map(\.count).max() ?? 0
        let body = try Minted.transaction()
        let cases: [(Int, RefusalReason?)] = [
            (size, nil), (size - 1, .certificateMalformed), (size / 2, .certificateMalformed),
        ]
        for (bytesMax, reason) in cases {
            let limits = VerifierLimits(certificateBytesMax: bytesMax)
            #expect(try Minted.verifier(limits: limits).reason(body) == reason, "\(bytesMax)")
        }
    }
}
