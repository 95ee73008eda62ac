import AppStore
import OpenSSL
import Synchronization
import Testing
import Simulation

/// Records signed with a revoked certificate, or with one of unknown status.
struct RevocationTests {
    private static let leaf = Result { SHA256.digest(try Minted.authority.get().leaf) }
    private static let intermediate = Result { SHA256.digest(try Minted.authority.get().intermediate) }

    private static func verifier(
        leaf status: RevocationSnapshot.Status?, intermediate other: RevocationSnapshot.Status? = .good,
        isHard: Bool = false
    ) throws -> Verifier {
        let verifier = try Minted.verifier()
        var statuses: [SHA256Digest: RevocationSnapshot.Status] = [:]
        statuses[try leaf.get()] = status
        statuses[try intermediate.get()] = other
        verifier.revocations = RevocationSnapshot(isHard: isHard, statuses: statuses)
        return verifier
    }

    @Test(arguments: [(-1, .certificateRevoked), (0, .certificateRevoked), (1, nil)] as [(Int64, RefusalReason?)])
    func `payloads signed from the second of revocation on are refused`(seconds: Int64, reason: RefusalReason?) throws {
        let revoked = RevocationSnapshot.Status.revoked(since: Minted.signedSeconds + seconds)
        let body = try Minted.transaction()
        for isHard in [false, true] {
            for isLeaf in [false, true] {
                let verifier = try Self.verifier(
                    leaf: isLeaf ? revoked : .good, intermediate: isLeaf ? .good : revoked, isHard: isHard)
                #expect(verifier.reason(body) == reason)
                #expect(verifier.reason(body) == reason, "with the chain known")
            }
        }
    }

    @Test func `the refusal names the certificate and its chain`() throws {
        let verifier = try Self.verifier(leaf: .good, intermediate: .revoked(since: 0))
        let refusal = try verifier.refusal(try Minted.transaction())
        #expect(refusal.detail == "the intermediate was revoked before the signed date")
        #expect(refusal.chain.map(\.fingerprint).first == (try Self.leaf.get()))
    }

    @Test func `revocation is checked after the signature, before the payload's fields`() throws {
        let authority = try Minted.authority.get()
        let verifier = try Self.verifier(leaf: .revoked(since: 0))
        var late = TransactionFields()
        late.signedDate = 3_000_000_000_000
        #expect(verifier.reason(try authority.sign(late.json)) == .certificateNotValidAtSigning)
        let forged = try authority.forge(TransactionFields().json, .flippedSignature)
        #expect(verifier.reason(forged) == .signatureInvalid)
        let incomplete = try Minted.transaction { $0.bundleID = "" }
        #expect(verifier.reason(incomplete) == .certificateRevoked)
        let other = try CertificateAuthority(name: "Stranger").sign(TransactionFields().json)
        #expect(verifier.reason(other) == .rootUntrusted)
    }

    @Test func `an unknown status passes and is counted, or waits if configured`() throws {
        let body = try Minted.transaction()
        let soft = try Self.verifier(leaf: .unknown)
        #expect(soft.reason(body) == nil)
        #expect(soft.reason(body) == nil)
        #expect(soft.passedUnknown == 2)
        let hard = try Self.verifier(leaf: nil, intermediate: nil, isHard: true)
        guard case .success(.undetermined(let awaited)) = hard.verify(body) else {
            Issue.record("the body did not wait")
            return
        }
        #expect(awaited == [try Self.leaf.get(), try Self.intermediate.get()])
        #expect(hard.passedUnknown == 0)
    }

    @Test func `only a body that passes every other rule waits`() throws {
        let authority = try Minted.authority.get()
        let hard = try Self.verifier(leaf: .unknown, isHard: true)
        let forged = try authority.forge(TransactionFields().json, .flippedSignature)
        #expect(hard.reason(forged) == .signatureInvalid)
        let foreign = try Minted.transaction { $0.bundleID = "com.example.other" }
        #expect(hard.reason(foreign) == .bundleMismatch)
        guard case .success(.ignored) = hard.verify(Array(#"{"signedTransactions":[]}"#.utf8)) else {
            Issue.record("a body without items waited for what the one before it needs")
            return
        }
    }

    @Test func `an expired certificate's status need not be known`() throws {
        let verifier = try Self.verifier(leaf: .unanswerable, isHard: true)
        #expect(verifier.reason(try Minted.transaction()) == nil)
        #expect(verifier.passedUnknown == 0)
    }

    @Test func `the rules for a JWS apply to a receipt`() throws {
        let authority = try MintedReceipts.authority.get()
        let body = try MintedReceipts.text()
        let cases: [(Int64, RefusalReason?)] = [(0, .certificateRevoked), (.max, nil)]
        for (since, reason) in cases {
            let verifier = try MintedReceipts.verifier()
            verifier.revocations = RevocationSnapshot(
                isHard: true,
                statuses: [
                    SHA256.digest(authority.leaf): .revoked(since: since), SHA256.digest(authority.intermediate): .good,
                ])
            #expect(verifier.reason(body) == reason)
        }
        let hard = try MintedReceipts.verifier()
        hard.revocations = RevocationSnapshot(isHard: true, statuses: [:])
        guard case .success(.undetermined(let awaited)) = hard.verify(body) else {
            Issue.record("the receipt did not wait")
            return
        }
        #expect(awaited.count == 2)
    }

    @Test func `Xcode's certificate has no issuer to ask`() throws {
        let xcode = try CertificateAuthority.xcode()
        let app = ConfiguredApp(
            bundleID: Identifier(Minted.bundleID), environment: .xcode, roots: [try Minted.root(xcode)])
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        verifier.revocations = RevocationSnapshot(isHard: true, statuses: [:])
        var fields = TransactionFields()
        fields.environment = "Xcode"
        #expect(try verifier.items(xcode.sign(fields.json)).count == 1)
    }

    private final class Recorder: ChainObserver {
        let chains = Mutex<[[SHA256Digest]]>([])
        func observed(_ chain: [Certificate]) { chains.withLock { $0.append(chain.map(\.fingerprint)) } }
    }

    private static func verifier(reportingTo recorder: Recorder) throws -> Verifier {
        let roots = [try Minted.authority.get(), try MintedReceipts.authority.get()]
        var configuration = VerifierConfiguration(apps: [try Minted.app(trusting: roots)])
        configuration.observer = recorder
        return Verifier(configuration: configuration)
    }

    @Test func `a chain is reported once, with its first good signature`() throws {
        let authority = try Minted.authority.get()
        let recorder = Recorder()
        let verifier = try Self.verifier(reportingTo: recorder)
        _ = verifier.reason(try authority.forge(TransactionFields().json, .flippedSignature))
        #expect(recorder.chains.withLock { $0.isEmpty })
        _ = verifier.reason(try Minted.transaction())
        _ = verifier.reason(try Minted.renewal())
        let expected = authority.chain.map { SHA256.digest($0) }
        #expect(recorder.chains.withLock { $0 } == [expected])
    }

    /// Responders are asked at the addresses in reported certificates; a forger's own address must
    /// not be among them.
    @Test func `a chain that is not trusted is not reported`() throws {
        let recorder = Recorder()
        let verifier = try Self.verifier(reportingTo: recorder)
        let (authority, receipts) = (try Minted.authority.get(), try MintedReceipts.authority.get())
        let copy = try CertificateAuthority(name: "Trusted")
        let receiptCopy = try CertificateAuthority(.receipts(name: "Trusted"))
        let payload = TransactionFields().json
        let chains = [
            copy.chain, [copy.leaf, copy.intermediate, authority.root],
            [copy.leaf, authority.intermediate, authority.root], authority.chain,
        ]
        for chain in chains {
            let header = CertificateAuthority.headerSegment(certificates: chain)
            #expect(verifier.reason(try copy.sign(payload, headerSegment: header)) != nil)
            var form = ReceiptForm()
            form.certificates = chain.map { der in
                switch der {
                case copy.leaf: receiptCopy.leaf
                case copy.intermediate: receiptCopy.intermediate
                case copy.root: receiptCopy.root
                case authority.leaf: receipts.leaf
                case authority.intermediate: receipts.intermediate
                default: receipts.root
                }
            }
            let text = try receiptCopy.receiptText(MintedReceipts.fields(), form)
            #expect(verifier.reason(text) != nil)
        }
        #expect(recorder.chains.withLock { $0.isEmpty })
        _ = try verifier.items(MintedReceipts.text())
        #expect(recorder.chains.withLock { $0.count } == 1)
    }
}
