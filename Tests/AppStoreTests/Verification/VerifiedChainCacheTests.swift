import AppStore
import OpenSSL
import Testing
import Simulation

struct VerifiedChainCacheTests {
    static func header(_ authority: CertificateAuthority, _ number: Int) -> [UInt8] {
        CertificateAuthority.headerSegment(certificates: authority.chain, trailing: #","kid":"\#(number)""#)
    }

    @Test func `headers are remembered up to a bound`() throws {
        let authority = try Minted.authority.get()
        var limits = VerifierLimits.standard
        limits.chainsCachedMax = 3
        let verifier = try Minted.verifier(limits: limits)
        let payload = TransactionFields().json
        for number in 0..<10 {
            let header = Self.header(authority, number % 5)
            #expect(verifier.reason(try authority.sign(payload, headerSegment: header)) == nil)
        }
        #expect(verifier.chainsCached == 3)
    }

    @Test func `a header is remembered only after a good signature`() throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        for number in 0..<5 {
            let header = Self.header(authority, number)
            var body = try authority.sign(TransactionFields().json, headerSegment: header)
            let index = body.count - 40
            body[index] = body[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(verifier.reason(body) == .signatureInvalid)
        }
        #expect(verifier.chainsCached == 0)
    }

    @Test func `a header with only the prefix of a known one is not known`() throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        let body = try Minted.transaction()
        _ = try verifier.items(body)
        let header = Array(body.prefix { $0 != UInt8(ascii: ".") })
        // Each is signed by the known leaf's key, so that nothing but the header is wrong.
        var others = [header + Array("AAAA".utf8), Array(header.dropLast())]
        for index in [0, 100, header.count - 1] {
            var other = header
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            others.append(other)
        }
        for other in others {
            let signed = try authority.sign(TransactionFields().json, headerSegment: other)
            #expect(verifier.reason(signed) != nil)
        }
    }

    @Test func `with a cache of size zero every chain is verified again`() throws {
        var limits = VerifierLimits.standard
        limits.chainsCachedMax = 0
        let verifier = try Minted.verifier(limits: limits)
        for _ in 0..<3 { _ = try verifier.items(try Minted.transaction()) }
        #expect(verifier.chainsCached == 0)
    }

    /// Each forgery has a new header, as in an attempt to flood the cache: a foreign chain, a
    /// forged leaf, and a good chain under a bad signature.
    @Test func `forged chains never displace the good one`() throws {
        let authority = try Minted.authority.get()
        var limits = VerifierLimits.standard
        limits.chainsCachedMax = 2
        let verifier = try Minted.verifier(limits: limits)
        let payload = TransactionFields().json
        _ = try verifier.items(try authority.sign(payload))
        let foreign = try CertificateAuthority(name: "Foreign")
        let copy = try CertificateAuthority(name: "Trusted")
        for number in 0..<40 {
            let bodies = [
                try foreign.sign(payload, headerSegment: Self.header(foreign, number)),
                try copy.sign(
                    payload,
                    headerSegment: CertificateAuthority.headerSegment(
                        certificates: [copy.leaf, authority.intermediate, authority.root],
                        trailing: #","kid":"\#(number)""#)),
                try copy.sign(payload, headerSegment: Self.header(authority, number)),
            ]
            #expect(bodies.map { verifier.reason($0) } == [.rootUntrusted, .chainInvalid, .signatureInvalid])
            #expect(verifier.chainsCached == 1)
        }
        #expect(verifier.reason(try authority.sign(payload)) == nil)
    }
}
