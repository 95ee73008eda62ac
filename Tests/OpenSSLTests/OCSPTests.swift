import Foundation
import OpenSSL
import Testing
import TestSupport
import Simulation

/// The answers of a responder, all signed by `openssl ocsp` on 127.0.0.1.
@Suite(.enabled(if: OCSPServer.isAvailable(), "needs the program openssl")) struct OCSPTests {
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    private static func ask(_ server: OCSPServer, _ chain: [Certificate]) throws -> [UInt8] {
        try OCSPResponder.ask(
            OCSPQuestion(about: chain[0], issuedBy: chain[1]), at: "http://127.0.0.1:\(server.port)/",
            deadlineSeconds: 30, answerBytesMax: 64 << 10)
    }

    private static func read(_ der: [UInt8], _ chain: [Certificate], at time: Int64 = now) throws(OCSPError)
        -> OCSPAnswer
    { try OCSPAnswer(der: der, about: chain[0], issuedBy: chain[1], at: time) }

    /// The code of a rejected answer.
    ///
    /// `nil` if it is accepted.
    private static func code(_ der: [UInt8], _ chain: [Certificate], at time: Int64 = now) -> OCSPError.Code? {
        do throws(OCSPError) {
            _ = try read(der, chain, at: time)
            return nil
        } catch { return error.code }
    }

    private static func answer(
        _ mine: RevocableAuthority, signer: OCSPServer.Signer,
        _ entries: [Int: OCSPServer.Entry] = [RevocableAuthority.leafSerial: .good],
        options: [String] = ["-ndays", "1"]
    ) async throws -> [UInt8] {
        let server = try await OCSPServer(
            port: mine.intermediatePort, issuer: mine.authority.intermediate, signer: signer, entries: entries,
            options: options)
        let answer = try ask(server, mine.chain)
        try await server.stop()
        return answer
    }

    @Test func `a certificate names its responders`() throws {
        let mine = try RevocableAuthority(port: 7)
        let expected = ["http://127.0.0.1:7/intermediate"]
        #expect(try mine.chain[0].ocspResponders == expected)
        #expect(try mine.chain[2].ocspResponders == ["http://127.0.0.1:7/root"])
        let silent = try CertificateAuthority()
        #expect(try Certificate(der: silent.leaf).ocspResponders.isEmpty)
    }

    @Test func `good, revoked and unknown are distinguished, and a change is noticed`() async throws {
        let mine = try RevocableAuthority()
        let server = try await mine.leafResponder(.good)
        let good = try Self.read(Self.ask(server, mine.chain), mine.chain)
        #expect(good.status == .good)
        #expect(abs(good.thisUpdate - Self.now) < 600)
        #expect(good.nextUpdate == good.thisUpdate + 86_400)
        try server.change([RevocableAuthority.leafSerial: .revoked(since: 1_700_000_000)])
        try await eventually {
            try Self.read(Self.ask(server, mine.chain), mine.chain).status == .revoked(since: 1_700_000_000)
        }
        try server.change([77: .good])
        try await eventually { try Self.read(Self.ask(server, mine.chain), mine.chain).status == .unknown }
        try await server.stop()
    }

    @Test func `the issuer itself may answer, without a next update too`() async throws {
        let mine = try RevocableAuthority()
        let signer = OCSPServer.Signer(certificate: mine.authority.intermediate, key: mine.blueprint.intermediateKey)
        let der = try await Self.answer(mine, signer: signer, options: [])
        let answer = try Self.read(der, mine.chain)
        #expect(answer.status == .good)
        #expect(answer.nextUpdate == nil)
    }

    @Test func `an answer by any other signer is refused`() async throws {
        let (mine, other) = (try RevocableAuthority(), try RevocableAuthority(name: "Other"))
        let signers = [
            "another authority's delegate": try other.delegate(),
            "another authority": OCSPServer.Signer(
                certificate: other.authority.intermediate, key: other.blueprint.intermediateKey),
            "without the purpose": try mine.delegate { $0.extensions = [] },
            "the leaf": OCSPServer.Signer(certificate: mine.authority.leaf, key: mine.blueprint.leafKey),
            "expired": try mine.delegate { $0.validity = 1_577_836_800...1_600_000_000 },
        ]
        for (name, signer) in signers {
            let der = try await Self.answer(mine, signer: signer)
            #expect(Self.code(der, try mine.chain) == .untrusted, "\(name)")
        }
    }

    @Test func `an answer signed over a weak digest is refused`() async throws {
        let mine = try RevocableAuthority()
        let der = try await Self.answer(mine, signer: mine.delegate(), options: ["-ndays", "1", "-rmd", "sha1"])
        #expect(Self.code(der, try mine.chain) == .untrusted)
    }

    @Test func `an answer counts only while it is current`() async throws {
        let mine = try RevocableAuthority()
        let der = try await Self.answer(mine, signer: mine.delegate())
        let chain = try mine.chain
        let answer = try Self.read(der, chain)
        let (from, to) = (answer.thisUpdate, try #require(answer.nextUpdate))
        let skew = OCSPAnswer.clockSkewMax
        #expect(Self.code(der, chain, at: from - skew) == nil)
        #expect(Self.code(der, chain, at: from - skew - 1) == .outOfWindow)
        #expect(Self.code(der, chain, at: to + skew) == nil)
        #expect(Self.code(der, chain, at: to + skew + 1) == .outOfWindow)
    }

    @Test func `an answer that is out of date before it is given is refused`() throws {
        let mine = try RevocableAuthority(port: 9)
        let chain = try mine.chain
        let now = Self.now
        for (nextUpdate, code) in [(now + 60, nil), (now, nil), (now - 1, OCSPError.Code.outOfWindow)] {
            let answer = try MintedOCSPAnswer(mine, thisUpdate: now, nextUpdate: nextUpdate)
            #expect(Self.code(answer.der, chain, at: now) == code, "\(nextUpdate - now)")
        }
    }

    @Test func `an answer about another certificate or of another issuer is refused`() async throws {
        let mine = try RevocableAuthority()
        let next = try CertificateAuthority(
            mine.blueprint.withNextLeaf(validity: CertificateAuthority.standardValidity))
        let der = try await Self.answer(mine, signer: mine.delegate())
        let chain = try [Certificate(der: next.leaf), mine.chain[1]]
        #expect(Self.code(der, chain) == .aboutAnother)
        let other = try RevocableAuthority(name: "Other").chain
        #expect(Self.code(der, other) == .untrusted)
    }

    @Test func `a flipped bit, a byte more or less changes no status`() async throws {
        let mine = try RevocableAuthority()
        let der = try await Self.answer(
            mine, signer: mine.delegate(), [RevocableAuthority.leafSerial: .revoked(since: 1_700_000_000)])
        let chain = try mine.chain
        let expected = try Self.read(der, chain).status
        for index in der.indices {
            var other = der
            other[index] ^= 1 << (index % 8)
            let status = try? Self.read(other, chain).status
            #expect(status == nil || status == expected, "byte \(index)")
        }
        #expect(Self.code(der + [0], chain) == .malformed)
        #expect(Self.code(Array(der.dropLast()), chain) == .malformed)
        #expect(Self.code([], chain) == .malformed)
        #expect(Self.code(Array("<html>".utf8), chain) == .malformed)
        // A bare status: try later (RFC 6960 §4.2.1).
        #expect(Self.code([0x30, 0x03, 0x0A, 0x01, 0x03], chain) == .refused)
    }
}
