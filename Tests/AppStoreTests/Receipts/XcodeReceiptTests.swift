import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing
import Simulation

/// Receipts of Xcode's local testing: BER, and one certificate.
@Suite(.needsSharedData) struct XcodeReceiptTests {
    static let bundleID = "com.example.naturelab.backyardbirds.example"

    static func certificate() throws -> Certificate {
        try Certificate(der: SharedData.vector("receipts/StoreKitTestCertificate.cer"))
    }

    static func verifier(bundleID: String = bundleID, _ environment: Environment = .xcode, roots: [Certificate]? = nil)
        throws -> Verifier
    {
        let app = ConfiguredApp(
            bundleID: Identifier(bundleID), environment: environment, appAppleID: 1, roots: try roots ?? [certificate()]
        )
        #expect(VerifierConfiguration.problems(with: [app]) == [])
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    @Test(arguments: ["receipts/receipt-xcode", "receipts/receipt-xcode-with-purchases"])
    func `its receipts are verified against the certificate exported from it`(name: String) throws {
        let text = try SharedData.vector(name)
        let receipt = try ReceiptProbe(text)
        for item in try Self.verifier(bundleID: receipt.bundleID).items(text) {
            #expect(item.environment == .xcode)
            #expect(item.verification.method == .receipt)
            #expect(item.verification.trust == .configured(try Self.certificate().fingerprint))
            #expect(item.transaction?.fields.transactionID != nil)
            #expect(item.receipt?["expirationDate"]?.int64 != nil)
        }
        let other = try Self.verifier(bundleID: "com.example.x")
        #expect(other.reason(text) == .bundleMismatch)
    }

    @Test func `R2 a receipt with one purchase, whose transaction ID is 0`() throws {
        let text = try SharedData.vector("apple-library/xcode/xcode-app-receipt-with-transaction")
        let items = try Self.verifier().items(text)
        #expect(items.map { $0.transaction?.fields.transactionID?.string } == ["0"])
        #expect(items.first?.transaction?.fields.productID?.string == "pass.premium")
    }

    @Test func `Xcode leaves out the original transaction ID, which is the transaction's own`() throws {
        let text = try SharedData.vector("apple-library/xcode/xcode-app-receipt-with-transaction")
        let item = try #require(try Self.verifier().items(text).first)
        #expect(item.transaction?.fields.originalTransactionID?.string == "0")
        #expect(item.transaction?.json["purchaseDate"]?.int64 == 1_697_679_936_000)
        #expect(item.transaction?.json["receiptExpirationDate"]?.int64 == 64_092_211_200_000)
    }

    @Test func `R1 a receipt without purchases holds nothing`() throws {
        let text = try SharedData.vector("apple-library/xcode/xcode-app-receipt-empty")
        guard case .success(.ignored(.emptyReceipt)) = try Self.verifier().verify(text) else {
            Issue.record("not ignored")
            return
        }
    }

    @Test func `without such an entry, or with another certificate, they are refused`() throws {
        let text = try SharedData.vector("apple-library/xcode/xcode-app-receipt-with-transaction")
        let refusal = try MintedReceipts.verifier().refusal(text)
        #expect(refusal.reason == .receiptMalformed && refusal.detail.contains("Xcode"))
        let other = try CertificateAuthority.xcode(key: .rsa(bits: 2048))
        let verifier = try Self.verifier(roots: [Certificate(der: other.root)])
        #expect(verifier.reason(text) == .rootUntrusted)
        #expect(try Self.verifier(.localTesting).reason(text) == .environmentMismatch)
    }

    @Test func `its window holds the creation date, and its key is RSA`() throws {
        let seconds = Minted.signedSeconds
        for (validity, key, reason) in [
            (seconds...seconds, .rsa(bits: 2048), nil),
            (seconds + 1...seconds + 2, .rsa(bits: 2048), .certificateNotValidAtSigning),
        ] as [(ClosedRange<Int64>, PrivateKey.Algorithm, RefusalReason?)] {
            let authority = try CertificateAuthority.xcode(validity: validity, key: key)
            var form = ReceiptForm()
            form.certificates = [authority.leaf]
            form.pieceBytes = 50
            let fields = MintedReceipts.fields { $0.receiptType = "Xcode" }
            let verifier = try Self.verifier(bundleID: Minted.bundleID, roots: [Certificate(der: authority.root)])
            #expect(verifier.reason(try authority.receiptText(fields, form)) == reason)
        }
    }

    @Test func `JWS and receipts need not share the certificate`() throws {
        let jws = try CertificateAuthority.xcode()
        let receipts = try CertificateAuthority.xcode(key: .rsa(bits: 2048))
        let verifier = try Self.verifier(
            bundleID: Minted.bundleID, roots: [Certificate(der: jws.root), Certificate(der: receipts.root)])
        var fields = TransactionFields()
        fields.environment = "Xcode"
        #expect(verifier.reason(try jws.sign(fields.json)) == nil)
        var form = ReceiptForm()
        form.certificates = [receipts.leaf]
        let receipt = MintedReceipts.fields { $0.receiptType = "Xcode" }
        #expect(verifier.reason(try receipts.receiptText(receipt, form)) == nil)
        // Neither signs the data of the other.
        form.certificates = [jws.leaf]
        #expect(verifier.reason(try jws.receiptText(receipt, form)) != nil)
    }
}
