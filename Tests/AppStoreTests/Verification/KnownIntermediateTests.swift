import AppStore
import CCalls
import OpenSSL
import Testing
import Simulation

/// A verifier's cache of intermediates, and the checks that it does not replace.
struct KnownIntermediateTests {
    private static let blueprint = Result {
        try AuthorityBlueprint(name: "Known", validity: CertificateAuthority.standardValidity)
    }
    private static let authority = Result { try CertificateAuthority(blueprint.get()) }

    /// A leaf's JWS with other certificates above the leaf.
    private static func body(
        _ leaf: CertificateAuthority, below intermediate: [UInt8], _ root: [UInt8],
        signed seconds: Int64 = Minted.signedSeconds
    ) throws -> [UInt8] {
        var fields = TransactionFields()
        fields.signedDate = seconds * 1_000
        return try leaf.sign(
            fields.json,
            headerSegment: CertificateAuthority.headerSegment(certificates: [leaf.leaf, intermediate, root]))
    }

    /// The authority with another leaf under the same keys.
    private static func authority(_ change: (inout AuthorityBlueprint) throws -> Void) throws -> CertificateAuthority {
        var changed = try blueprint.get().withNextLeaf(validity: CertificateAuthority.standardValidity)
        try change(&changed)
        return try CertificateAuthority(changed)
    }

    /// The reason for refusing a body, and the number of certificate signatures verified for it.
    private struct Verdict: Equatable {
        let reason: RefusalReason?
        let signatures: Int

        init(_ reason: RefusalReason?, _ signatures: Int) {
            self.reason = reason
            self.signatures = signatures
        }
    }

    private static func verify(_ body: [UInt8], _ verifier: Verifier) -> Verdict {
        let before = own_calls_of_x509_verify()
        let reason = verifier.reason(body)
        return Verdict(reason, Int(own_calls_of_x509_verify() - before))
    }

    @Test func `a chain takes two signatures, the next leaf one, a known chain none`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        let next = try Self.authority { _ in }
        for (leaf, signatures) in [(authority, 2), (authority, 0), (next, 1), (next, 0)] {
            let body = try Self.body(leaf, below: authority.intermediate, authority.root)
            #expect(Self.verify(body, verifier) == Verdict(nil, signatures))
        }
    }

    @Test func `a leaf forged below a known intermediate takes one signature and is refused`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        let good = try authority.sign(TransactionFields().json)
        #expect(verifier.reason(good) == nil)
        for _ in 0..<3 {
            let forger = try Self.authority { $0.leafSigner = try .generate(.p384) }
            let body = try Self.body(forger, below: authority.intermediate, authority.root)
            #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 1))
            #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 1), "it is not remembered")
        }
        #expect(Self.verify(good, verifier) == Verdict(nil, 0))
    }

    /// A forger below the genuine root makes the intermediate known by himself, and gains nothing.
    @Test func `an intermediate is known once its root has signed it, whatever leaf comes with it`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        let forger = try Self.authority { $0.leafSigner = try .generate(.p384) }
        let body = try Self.body(forger, below: authority.intermediate, authority.root)
        #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 2))
        #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 1))
        let good = try authority.sign(TransactionFields().json)
        #expect(Self.verify(good, verifier) == Verdict(nil, 1))
    }

    @Test func `an intermediate with a known one's name and key but other bytes is verified again`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        #expect(verifier.reason(try authority.sign(TransactionFields().json)) == nil)
        let changes: [(inout AuthorityBlueprint) -> Void] = [
            { _ in }, { $0.intermediate.serialNumber += 1 }, { $0.intermediate.validity = 0...4_000_000_000 },
        ]
        for change in changes {
            let forger = try Self.authority {
                $0.intermediateSigner = try .generate(.p384)
                change(&$0)
            }
            let body = try Self.body(forger, below: forger.intermediate, authority.root)
            for _ in 0..<2 { #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 1)) }
            let refusal = try verifier.refusal(body)
            #expect(refusal.detail == "the root has not signed the intermediate")
        }
    }

    @Test func `a known intermediate with a bit flipped is verified again`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        let good = try authority.sign(TransactionFields().json)
        #expect(verifier.reason(good) == nil)
        // Within a text, so that it stays a certificate of these names, and within the signature.
        let text = try #require(authority.intermediate.firstRange(of: Array("Reliance".utf8)))
        for index in [text.lowerBound, authority.intermediate.count - 3] {
            var intermediate = authority.intermediate
            intermediate[index] ^= 1
            let body = try Self.body(authority, below: intermediate, authority.root)
            let refusal = try verifier.refusal(body)
            #expect(refusal.reason == .chainInvalid)
            #expect(refusal.detail == "the root has not signed the intermediate")
        }
    }

    /// Two roots of one name and without key identifiers: only the signature distinguishes them.
    private static func namesakes() throws -> [CertificateAuthority] {
        try (0..<2).map { _ in
            try CertificateAuthority(name: "Namesake") {
                $0.root.subjectKeyIdentifier = nil
                $0.intermediate.authorityKeyIdentifier = nil
            }
        }
    }

    @Test func `an intermediate is known for one root only`() throws {
        let both = try Self.namesakes()
        let apps = [
            try Minted.app(trusting: [both[0]]), try Minted.app(bundleID: "com.example.other", trusting: [both[1]]),
        ]
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        var other = TransactionFields()
        other.bundleID = "com.example.other"
        for trailing in ["", ",\"kid\":\"1\""] {
            let header = CertificateAuthority.headerSegment(certificates: both[0].chain, trailing: trailing)
            let bodies = try [TransactionFields(), other].map { try both[0].sign($0.json, headerSegment: header) }
            #expect(bodies.map { verifier.reason($0) } == [nil, .rootUntrusted])
        }
    }

    @Test func `other roots start without known intermediates`() throws {
        let both = try Self.namesakes()
        let body = try both[0].sign(TransactionFields().json)
        let former = try Minted.verifier(trusting: both[0])
        #expect(Self.verify(body, former) == Verdict(nil, 2))
        let next = try Minted.verifier(trusting: both[1])
        #expect(Self.verify(body, next) == Verdict(.chainInvalid, 1))
        #expect(Self.verify(try both[1].sign(TransactionFields().json), next) == Verdict(nil, 2))
    }

    @Test func `a known intermediate that has expired is refused at later dates`() throws {
        let end = Minted.signedSeconds + 1_000
        let first = try Self.authority { $0.intermediate.validity = 0...end }
        let verifier = try Minted.verifier(trusting: first)
        let next = try Self.authority { _ in }
        let before = own_calls_of_x509_verify()
        for (leaf, seconds, reason) in [
            (first, end, nil), (next, end + 1, .certificateNotValidAtSigning), (next, end, nil),
            (next, end + 1, .certificateNotValidAtSigning),
        ] as [(CertificateAuthority, Int64, RefusalReason?)] {
            let body = try Self.body(leaf, below: first.intermediate, first.root, signed: seconds)
            #expect(verifier.reason(body) == reason)
        }
        // A good signature makes a chain known, whatever the date under it.
        #expect(own_calls_of_x509_verify() - before == 3)
    }

    @Test func `a known intermediate that is revoked is refused`() throws {
        let authority = try Self.authority.get()
        let verifier = try Minted.verifier(trusting: authority)
        #expect(verifier.reason(try authority.sign(TransactionFields().json)) == nil)
        verifier.revocations = RevocationSnapshot(
            isHard: false, statuses: [SHA256.digest(authority.intermediate): .revoked(since: 0)])
        let next = try Self.authority { _ in }
        let body = try Self.body(next, below: authority.intermediate, authority.root)
        #expect(Self.verify(body, verifier) == Verdict(.certificateRevoked, 1))
    }

    /// SHA-1 is allowed below receipts alone.
    @Test func `an intermediate known from a receipt is checked by the rules for a JWS`() throws {
        var blueprint = try AuthorityBlueprint.receipts(name: "Both")
        blueprint.intermediate.signatureDigest = .sha1
        let receipts = try CertificateAuthority(blueprint)
        blueprint.leafKey = try .generate(.p256)
        blueprint.leaf.subjectKeyIdentifier = blueprint.leafKey.keyIdentifier
        let signer = try CertificateAuthority(blueprint)
        let verifier = try Minted.verifier(trusting: receipts)
        let text = try receipts.receiptText(MintedReceipts.fields())
        #expect(Self.verify(Body.receipt(text), verifier) == Verdict(nil, 2))
        #expect(Self.verify(Body.receipt(text), verifier) == Verdict(nil, 1))
        let body = try Self.body(signer, below: receipts.intermediate, receipts.root)
        #expect(Self.verify(body, verifier) == Verdict(.chainInvalid, 0))
    }

    @Test(arguments: [0, 2, 3]) func `known intermediates are bounded, the least recently used is dropped`(bound: Int)
        throws
    {
        var limits = VerifierLimits.standard
        (limits.chainsCachedMax, limits.intermediatesKnownMax) = (0, bound)
        let authorities = try (0..<3).map { try CertificateAuthority(name: "Authority \($0)") }
        let app = try Minted.app(trusting: authorities)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app], limits: limits))
        let signatures = try [0, 1, 0, 2, 0, 1].map { number in
            let body = try authorities[number].sign(TransactionFields().json)
            return Self.verify(body, verifier).signatures
        }
        switch bound {
        case 0: #expect(signatures == [2, 2, 2, 2, 2, 2])
        case 2: #expect(signatures == [2, 2, 1, 2, 1, 2])
        default: #expect(signatures == [2, 2, 1, 2, 1, 1])
        }
    }
}
