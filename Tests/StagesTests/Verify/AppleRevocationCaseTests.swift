import AppStore
import OpenSSL
import Testing
import TestSupport
import Simulation
import Topology
import VerifyStage

/// The cases C11 to C15 of Apple's libraries, which need a responder: `openssl ocsp` on 127.0.0.1
/// instead of Apple's.
///
/// Apple's libraries remember a verified chain by its text, for 15 minutes. Here each certificate
/// has its own answer and interval, and two certificates of a chain are asked about; so the number
/// of questions differs.
@Suite(.enabled(if: OCSPServer.isAvailable(), "needs the program openssl")) struct AppleRevocationCaseTests {
    private static func withResponders(of authorities: [RevocableAuthority], _ body: (LookupRig) async throws -> Void)
        async throws
    {
        var servers: [OCSPServer] = []
        for authority in authorities {
            servers.append(try await authority.leafResponder())
            servers.append(try await authority.intermediateResponder())
        }
        try await body(LookupRig())
        for server in servers { try await server.stop() }
    }

    @Test func `C11 testOcspResponseCaching, C12 testOcspResponseCachingHasExpiration`() async throws {
        let mine = try RevocableAuthority()
        try await Self.withResponders(of: [mine]) { rig in
            rig.lookup.add(try mine.chain)
            await rig.refresh(untilQuestions: 2)
            rig.clock.advance(by: .seconds(1))
            await rig.refresh(untilQuestions: 2)
            rig.clock.advance(by: .seconds(15 * 60))
            await rig.refresh(untilQuestions: 4)
        }
    }

    @Test func `C13 testOcspResponseCachingWithDifferentChains`() async throws {
        let (mine, other) = (try RevocableAuthority(), try RevocableAuthority(name: "Other"))
        try await Self.withResponders(of: [mine, other]) { rig in
            rig.lookup.add(try mine.chain)
            await rig.refresh(untilQuestions: 2)
            rig.lookup.add(try other.chain)
            await rig.refresh(untilQuestions: 4)
        }
    }

    /// Apple asks again if any part of the chain differs; here only about new certificates.
    @Test func `C14 testOcspResponseCachingWithSlightlyDifferentChains`() async throws {
        let mine = try RevocableAuthority()
        let next = try CertificateAuthority(
            mine.blueprint.withNextLeaf(validity: CertificateAuthority.standardValidity))
        let otherRoot = try RevocableAuthority(name: "Other", port: 9).chain[2]
        try await Self.withResponders(of: [mine]) { rig in
            let chain = try mine.chain
            rig.lookup.add(chain)
            await rig.refresh(untilQuestions: 2)
            rig.lookup.add([chain[0], chain[1], otherRoot])
            await rig.refresh(untilQuestions: 2)
            rig.lookup.add([try Certificate(der: next.leaf), chain[1], chain[2]])
            await rig.refresh(untilQuestions: 3)
        }
    }

    @Test func `C15 testAppleChainIsValidWithOCSP`() async throws {
        let mine = try RevocableAuthority()
        try await Self.withResponders(of: [mine]) { rig in
            let chain = try mine.chain
            rig.lookup.add(chain)
            await rig.refresh(untilQuestions: 2)
            let snapshot = rig.lookup.refresh()
            #expect(snapshot.isHard)
            for certificate in chain.prefix(2) { #expect(snapshot.status(of: certificate.fingerprint) == .good) }
            let app = ConfiguredApp.pro(trusting: [chain[2]])
            let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
            verifier.revocations = snapshot
            let body = try mine.authority.sign(TransactionFields().json)
            guard case .success(.items(let items)) = verifier.verify(body) else {
                Issue.record("the chain is not valid")
                return
            }
            #expect(items.count == 1)
        }
    }
}
