import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing
import Simulation

/// Cases of receipt validation that other suites test, with our verdict.
@Suite(.needsSharedData) struct ReceiptChecklistTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The refusal here.
        ///
        /// `nil` if accepted.
        let ours: RefusalReason?
        let verdict: @Sendable () throws -> RefusalReason?

        init(_ name: String, _ ours: RefusalReason?, _ verdict: @escaping @Sendable () throws -> RefusalReason?) {
            testDescription = name
            self.ours = ours
            self.verdict = verdict
        }
    }

    static let cases: [Case] = [
        Case("wrong bundle", .bundleMismatch) {
            try MintedReceipts.reason(MintedReceipts.fields { $0.bundleID = "com.example.x" })
        },
        Case("wrong environment", .environmentMismatch) {
            let app = try Minted.app(.sandbox, trusting: [MintedReceipts.authority.get()])
            let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
            return verifier.reason(try MintedReceipts.text())
        },
        Case("unknown receipt type", .environmentMismatch) {
            try MintedReceipts.reason(MintedReceipts.fields { $0.receiptType = "Moon" })
        },
        Case("tampered payload", .receiptSignatureInvalid) {
            try MintedReceipts.verifier().reason(
                MintedReceipts.text { $0.shownContent = MintedReceipts.record { $0.productID = "dearer" }.content })
        },
        Case("foreign root", .rootUntrusted) {
            let foreign = try CertificateAuthority(.receipts(name: "Foreign"))
            return try MintedReceipts.verifier().reason(foreign.receiptText(MintedReceipts.fields()))
        },
        Case("leaf without OID", .certificatePurpose) {
            let authority = try MintedReceipts.authority { $0.leaf.extensions.removeFirst() }
            return try MintedReceipts.verifier(trusting: authority).reason(
                authority.receiptText(MintedReceipts.fields()))
        },
        Case("intermediate without OID", .certificatePurpose) {
            let authority = try MintedReceipts.authority { $0.intermediate.extensions.removeFirst() }
            return try MintedReceipts.verifier(trusting: authority).reason(
                authority.receiptText(MintedReceipts.fields()))
        },
        Case("root cert not embedded", .receiptMalformed) {
            let authority = try MintedReceipts.authority.get()
            return try MintedReceipts.verifier().reason(
                MintedReceipts.text { $0.certificates = [authority.leaf, authority.intermediate] })
        },
        Case("not base64", .receiptMalformed) {
            try MintedReceipts.verifier().reason(Body.receipt(Array("MII*".utf8)))
        },
        Case("not PKCS#7", .receiptMalformed) {
            let text = Base64Text.standard(DER.sequence([DER.integer(1)]))
            return try MintedReceipts.verifier().reason(Body.receipt(text))
        },
        Case("trailing bytes", .receiptMalformed) {
            try MintedReceipts.verifier().reason(MintedReceipts.text { $0.trailing = [0] })
        },
        Case("expired certs at creation date OK", nil) {
            let now = Minted.signedSeconds
            let authority = try MintedReceipts.authority { $0.leaf.validity = now - 10...now + 10 }
            return try MintedReceipts.verifier(trusting: authority).reason(
                authority.receiptText(MintedReceipts.fields()))
        },
        // Others make such a check at the present time and refuse old receipts. Here a responder
        // may have forgotten an expired certificate, and the creation date decides.
        Case("same with online checks fails", nil) {
            let now = Minted.signedSeconds
            let authority = try MintedReceipts.authority { $0.leaf.validity = now - 10...now + 10 }
            let verifier = try MintedReceipts.verifier(trusting: authority)
            verifier.revocations = RevocationSnapshot(
                isHard: true,
                statuses: [SHA256.digest(authority.leaf): .unanswerable, SHA256.digest(authority.intermediate): .good])
            return verifier.reason(try authority.receiptText(MintedReceipts.fields()))
        },
        Case("unknown attributes preserved", nil) {
            let fields = MintedReceipts.fields {
                $0.further = [ReceiptFields.attribute(9999, [1, 2, 3])]
                $0.records[0].further = [ReceiptFields.attribute(1999, [4])]
            }
            let item = try #require(try MintedReceipts.items(fields).first)
            let kept = [item.receipt?["attributes"], item.transaction?.json["receiptAttributes"]]
            let types = kept.map { $0?.elements.compactMap { $0["type"]?.int64 } ?? [] }
            #expect(types[0].contains(9999) && types[1].contains(1999))
            return nil
        },
        Case("no signedAttrs", nil) {
            try MintedReceipts.verifier().reason(MintedReceipts.text { $0.hasSignedAttributes = false })
        },
        Case("segmented content", nil) {
            try MintedReceipts.verifier().reason(MintedReceipts.text { $0.pieceBytes = 33 })
        },
        Case("Xcode decode", nil) {
            try XcodeReceiptTests.verifier().reason(AppleLibrary.file("xcode/xcode-app-receipt-with-transaction"))
        },
        Case("Xcode wrong bundle", .bundleMismatch) {
            try XcodeReceiptTests.verifier(bundleID: "com.example.x").reason(
                AppleLibrary.file("xcode/xcode-app-receipt-with-transaction"))
        },
        Case("Xcode wrong environment", .environmentMismatch) {
            try XcodeReceiptTests.verifier(.localTesting).reason(
                AppleLibrary.file("xcode/xcode-app-receipt-with-transaction"))
        },
        Case("extract rejects foreign receipt", .rootUntrusted) {
            let root = try Minted.root(MintedReceipts.authority.get())
            return GenuineReceiptTests.verifier(roots: [root]).reason(try GenuineReceiptTests.text())
        },
    ]

    @Test(arguments: cases) func `each case of the receipt checklist has our verdict`(item: Case) throws {
        #expect(try item.verdict() == item.ours)
    }

    @Test func `decode all attributes, empty date = absent and 1719 as bool`() throws {
        let fields = MintedReceipts.record { $0.isInIntroOfferPeriod = true }
        let item = try #require(try MintedReceipts.items(fields).first)
        #expect(item.transaction?.json["expiresDate"] == nil)
        #expect(item.transaction?.json["revocationDate"] == nil)
        #expect(item.transaction?.json["isInIntroOfferPeriod"]?.bool == true)
        #expect(item.receipt?["transactionDate"] == nil)
    }

    @Test func `extract id, extract nil: no purchase of an unverified receipt is ever named`() throws {
        let items = try XcodeReceiptTests.verifier().items(
            AppleLibrary.file("xcode/xcode-app-receipt-with-transaction"))
        #expect(items.map { $0.transaction?.fields.transactionID?.string } == ["0"])
        let empty = try AppleLibrary.file("xcode/xcode-app-receipt-empty")
        guard case .success(.ignored) = try XcodeReceiptTests.verifier().verify(empty) else {
            Issue.record("an empty receipt is ignored")
            return
        }
    }
}
