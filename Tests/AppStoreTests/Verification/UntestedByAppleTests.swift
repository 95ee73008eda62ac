import AppStore
import OpenSSL
import Testing
import Simulation

/// The defects that none of Apple's four suites tests, each with the rule that it breaks.
struct UntestedByAppleTests {
    @Test(arguments: Forgery.allCases) func `a forged JWS is refused for its one defect, cold and warm`(
        forgery: Forgery
    ) throws {
        let verifier = try Minted.verifier()
        let body = try Minted.authority.get().forge(TransactionFields().json, forgery)
        #expect(verifier.reason(body) == Self.verdict(forgery))
        _ = try verifier.items(try Minted.transaction())
        #expect(verifier.reason(body) == Self.verdict(forgery))
    }

    static func verdict(_ forgery: Forgery) -> RefusalReason {
        switch forgery {
        case .flippedSignature, .flippedPayload, .foreignKey, .zeroR, .highestS: .signatureInvalid
        case .algorithmNone, .algorithmHS256: .algorithmNotAllowed
        case .signatureInDER, .shortSignature, .longSignature, .truncated, .fourSegments, .paddedSegment,
            .criticalMember, .unencodedPayload:
            .jwsMalformed
        case .withoutCertificates: .x5cMissing
        }
    }

    /// n − s verifies wherever s does; Apple does not forbid it.
    @Test func `high s is accepted, r or s of n is not`() throws {
        let body = try Minted.transaction()
        let dot = try #require(body.lastIndex(of: UInt8(ascii: ".")))
        let text = String(decoding: body[(dot + 1)...], as: UTF8.self)
        let signature = try #require(Base64Decoding.url(text))
        func signed(_ raw: [UInt8]) -> [UInt8] { Array(body[...dot]) + Base64Text.url(raw) }
        let verifier = try Minted.verifier()
        let mirrored = Self.difference(Self.order, Array(signature[32...]))
        #expect(verifier.reason(signed(signature)) == nil)
        #expect(verifier.reason(signed(Array(signature[..<32]) + mirrored)) == nil)
        #expect(verifier.reason(signed(Self.order + signature[32...])) == .signatureInvalid)
        #expect(verifier.reason(signed(signature[..<32] + Self.order)) == .signatureInvalid)
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(verifier.reason(signed(signature[..<32] + zero)) == .signatureInvalid)
    }

    static let order: [UInt8] =
        [UInt8](repeating: 0xFF, count: 4) + [0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]

    static func difference(_ minuend: [UInt8], _ subtrahend: [UInt8]) -> [UInt8] {
        var result = minuend
        var borrow = 0
        for index in minuend.indices.reversed() {
            let value = Int(minuend[index]) - Int(subtrahend[index]) - borrow
            borrow = value < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: value)
        }
        return result
    }

    @Test func `x5c of four, and of the right three in another order, is refused`() throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        let (leaf, middle, root) = (authority.leaf, authority.intermediate, authority.root)
        for (chain, reason) in [
            ([leaf, middle, root, root], RefusalReason.x5cLength), ([middle, leaf, root], .rootUntrusted),
            ([leaf, root, middle], .chainInvalid), ([root, middle, leaf], .chainInvalid),
            ([leaf, leaf, root], .rootUntrusted),
        ] {
            let header = CertificateAuthority.headerSegment(certificates: chain)
            let body = try authority.sign(TransactionFields().json, headerSegment: header)
            #expect(verifier.reason(body) == reason)
        }
    }

    @Test(
        arguments: [
            (-1, RefusalReason.certificateNotValidAtSigning), (0, nil), (100, nil),
            (101, .certificateNotValidAtSigning),
        ] as [(Int64, RefusalReason?)]) func `the leaf's window, to the second at both ends`(
            seconds: Int64, reason: RefusalReason?
        ) throws
    {
        let start = Minted.signedSeconds
        let authority = try CertificateAuthority { $0.leaf.validity = start...start + 100 }
        let verifier = try Minted.verifier(trusting: authority)
        var fields = TransactionFields()
        // The last millisecond of a second counts as that second.
        fields.signedDate = (start + seconds) * 1000 + (seconds == 100 ? 999 : 0)
        #expect(verifier.reason(try authority.sign(fields.json)) == reason)
    }

    @Test func `intermediate and root have windows too, and warm as cold`() throws {
        let start = Minted.signedSeconds
        for part in [\AuthorityBlueprint.intermediate, \.root] {
            let authority = try CertificateAuthority { $0[keyPath: part].validity = start...start + 10 }
            let verifier = try Minted.verifier(trusting: authority)
            var fields = TransactionFields()
            #expect(verifier.reason(try authority.sign(fields.json)) == nil)
            fields.signedDate = (start + 11) * 1000
            let late = try authority.sign(fields.json)
            #expect(verifier.reason(late) == .certificateNotValidAtSigning)
            #expect(try Minted.verifier(trusting: authority).reason(late) == .certificateNotValidAtSigning)
        }
    }

    @Test func `a signed date in the future is accepted within the windows`() throws {
        let body = try Minted.transaction { $0.signedDate = 2_400_000_000_000 }
        let item = try #require(try Minted.verifier().items(body).first)
        #expect(item.verification.signedDate.milliseconds == 2_400_000_000_000)
    }

    @Test(arguments: ["null", #""1767225601000""#, "1e400", "[]"])
    func `a payload without a valid signed date is refused`(value: String) throws {
        let verifier = try Minted.verifier()
        let body = try Minted.transaction { $0.overrides["signedDate"] = value }
        #expect(verifier.reason(body) == .payloadMalformed)
        #expect(verifier.reason(try Minted.transaction { $0.signedDate = nil }) == .payloadMalformed)
    }

    @Test func `payload kinds are distinguished, and not mixed`() throws {
        let verifier = try Minted.verifier()
        let mixed = try Minted.transaction { $0.overrides["notificationType"] = #""TEST""# }
        #expect(verifier.reason(mixed) == .payloadMalformed)
        let renewal = try Minted.transaction { $0.overrides["autoRenewStatus"] = "1" }
        #expect(verifier.reason(renewal) == .payloadMalformed)
        let unmarked = try Minted.transaction { $0.overrides["notificationType"] = "null" }
        #expect(verifier.reason(unmarked) == nil)
        let transaction = try Minted.transaction()
        #expect(verifier.reason(Body.notification(transaction)) == .payloadMalformed)
        let notification = try Minted.notification()
        #expect(verifier.reason(Body.transaction(notification)) == .payloadMalformed)
        #expect(verifier.reason(Body.appTransactionInfo(transaction)) == .payloadMalformed)
        #expect(verifier.reason(Body.history([try Minted.renewal()])) == .payloadMalformed)
        let swapped = try Minted.notification(transaction: try Minted.renewal(), renewal: try Minted.transaction())
        #expect(verifier.reason(swapped) == .payloadMalformed)
    }

    @Test func `a JWS is not accepted as a payload`() throws {
        let inner = try Minted.transaction()
        let verifier = try Minted.verifier()
        #expect(verifier.reason(try Minted.sign(inner)) == .payloadMalformed)
        let quoted = Array("\"".utf8) + inner + Array("\"".utf8)
        #expect(verifier.reason(try Minted.sign(quoted)) == .payloadMalformed)
    }

    @Test func `doubled keys are refused in header, payload and envelope`() throws {
        let verifier = try Minted.verifier()
        let authority = try Minted.authority.get()
        let header = CertificateAuthority.headerSegment(certificates: authority.chain, trailing: #","\u0061lg":"none""#)
        let body = try authority.sign(TransactionFields().json, headerSegment: header)
        #expect(verifier.reason(body) == .jwsMalformed)
        let payload = String(decoding: TransactionFields().json.dropLast(), as: UTF8.self)
        let doubled = try Minted.sign(Array((payload + #","bundleId":"com.example.x"}"#).utf8))
        #expect(verifier.reason(doubled) == .payloadMalformed)
        let token = String(decoding: try Minted.transaction(), as: UTF8.self)
        let envelope = #"{"signedTransaction":"\#(token)","signedTransaction":"\#(token)"}"#
        #expect(verifier.reason(envelope) == .envelopeMalformed)
    }

    @Test func `a huge header is refused before it is decoded`() throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        for (padding, reason) in [(8_000, nil), (12_000, RefusalReason.jwsMalformed)] {
            let header = CertificateAuthority.headerSegment(
                certificates: authority.chain, trailing: #","kid":"\#(String(repeating: "k", count: padding))""#)
            let body = try authority.sign(TransactionFields().json, headerSegment: header)
            #expect(verifier.reason(body) == reason)
        }
    }

    @Test func `nothing in the header but alg and x5c decides`() throws {
        let authority = try Minted.authority.get()
        let header = CertificateAuthority.headerSegment(
            certificates: authority.chain,
            trailing: #","typ":7,"kid":"x","jwk":{},"jku":"https://example.com","x5u":null"#)
        let body = try authority.sign(TransactionFields().json, headerSegment: header)
        #expect(try Minted.verifier().reason(body) == nil)
    }
}
