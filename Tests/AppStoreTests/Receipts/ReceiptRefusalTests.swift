import AppStore
import OpenSSL
import Testing
import Simulation

/// The facts and the rule that the refusal of a receipt names for an auditor.
struct ReceiptRefusalTests {
    /// Each step of the list mends one more defect.
    @Test func `the first rule broken, in their order, is the reason`() throws {
        let steps = BrokenReceipt.steps.indices
        for first in steps {
            let broken = BrokenReceipt(breaking: Set(first..<steps.upperBound))
            #expect(try broken.verdict() == BrokenReceipt.steps[first].reason, "from \(first) on")
        }
        #expect(try BrokenReceipt(breaking: []).verdict() == nil)
    }

    @Test(arguments: BrokenReceipt.steps.indices) func `of any two rules broken at once the earlier is the reason`(
        first: Int
    ) throws {
        for second in first..<BrokenReceipt.steps.count {
            let broken = BrokenReceipt(breaking: [first, second])
            let reason = BrokenReceipt.steps[first].reason
            #expect(try broken.verdict() == reason, "\(first), \(second)")
        }
    }

    @Test func `certificates and identifiers are reported even if the chain is bad`() throws {
        let foreign = try CertificateAuthority(.receipts(name: "Foreign"))
        var form = ReceiptForm()
        form.certificates = [foreign.root, foreign.leaf, foreign.intermediate]
        let text = try foreign.receiptText(MintedReceipts.fields(), form)
        let refusal = try MintedReceipts.verifier().refusal(Body.receipt(text))
        #expect(refusal.reason == .rootUntrusted)
        let expected = foreign.chain.map(SHA256.digest)
        #expect(refusal.chain.map(\.fingerprint) == expected)
        #expect(refusal.unverified.bundleID == Minted.bundleID)
        #expect(refusal.unverified.environment == "Production")
        #expect(refusal.unverified.transactionID == "2000000000000001")
        #expect(refusal.unverified.originalTransactionID == "2000000000000001")
        #expect(refusal.unverified.productID == "com.example.pro.monthly")
        #expect(refusal.unverified.signedDate?.milliseconds == 1_767_225_601_000)
    }

    @Test func `a detail quotes nothing from the receipt and says what to do`() throws {
        let marker = "com.example.secret"
        let faults: [(inout ReceiptFields) -> Void] = [
            { $0.bundleID = marker }, { $0.receiptType = marker }, { $0.records[0].purchaseDate = nil },
            { $0.creationDate = nil },
        ]
        for fault in faults {
            let fields = MintedReceipts.fields {
                $0.records[0].productID = marker
                fault(&$0)
            }
            let refusal = try MintedReceipts.verifier().refusal(MintedReceipts.text(fields))
            #expect(!refusal.detail.contains(marker) && !refusal.detail.isEmpty)
            #expect(refusal.detail.utf8.count <= 200)
        }
    }

    /// A receipt in the style of iOS 6: a property list.
    ///
    /// - Parameter opening: the bytes before its first key.
    private func legacyReceipt(_ opening: String = "{\n") -> String {
        let info = """
            {
            "transaction-id" = "33993399";
            "original-transaction-id" = "33993300";
            "bid" = "com.example.pro";
            "product-id" = "pro";
            }
            """
        let purchase = String(decoding: Base64Text.standard(Array(info.utf8)), as: UTF8.self)
        return opening + "\"signature\" = \"AA==\";\n\"purchase-info\" = \"\(purchase)\";\n}"
    }

    @Test(arguments: ["{\n", "{\n\t", "{ ", "{", " {\r\n"])
    func `a receipt in the style of iOS 6 is known in every wrapping, and the detail says what to do`(opening: String)
        throws
    {
        let list = Array(legacyReceipt(opening).utf8)
        let text = Base64Text.standard(list)
        let broken = Array(text.prefix(76)) + Array("\r\n".utf8) + Array(text.dropFirst(76))
        for body in [Body.receipt(text), text, broken, [0x0A] + text + [0x0A], list] {
            let refusal = try MintedReceipts.verifier().refusal(body)
            #expect(refusal.reason == .receiptUnsupported)
            #expect(refusal.detail.contains("Get Transaction Info") && refusal.detail.utf8.count <= 200)
            #expect(refusal.unverified.transactionID == "33993399")
            #expect(refusal.unverified.originalTransactionID == "33993300")
            #expect(refusal.unverified.bundleID == "com.example.pro")
            #expect(refusal.unverified.productID == "pro")
        }
    }

    @Test func `other text instead of a receipt is malformed`() throws {
        for text in ["{}", "{\"a\" = \"b\";}", "hello", "<plist/>"] {
            let body = Body.receipt(Base64Text.standard(Array(text.utf8)))
            #expect(try MintedReceipts.verifier().reason(body) == .receiptMalformed)
        }
    }

    @Test func `a receipt refused for its size has only its search fields read`() throws {
        let inApp = ReceiptFields.attribute(17, DER.set([]))
        for (placesBefore, bundleID) in [(400, Minted.bundleID), (2_000, nil)] {
            let fields = MintedReceipts.fields {
                $0.bundleID = nil
                $0.further = Array(repeating: inApp, count: placesBefore)
                $0.further.append(ReceiptFields.attribute(2, text: Minted.bundleID))
                $0.further += Array(repeating: inApp, count: 1_000)
            }
            let refusal = try MintedReceipts.verifier().refusal(MintedReceipts.text(fields))
            #expect(refusal.reason == .payloadTooLarge)
            #expect(refusal.unverified.bundleID == bundleID)
            #expect(refusal.unverified.transactionID == "2000000000000001")
        }
    }

    @Test func `records up to the limit of the body are read`() throws {
        let fields = MintedReceipts.fields { fields in
            fields.records = (0..<500).map { index in
                var record = ReceiptRecordFields()
                record.transactionID = "10000000\(index)"
                record.further = [ReceiptFields.attribute(1722, [UInt8](repeating: 7, count: 1_200))]
                return record
            }
        }
        for pieceBytes in [nil, 1_000] {
            let text = try MintedReceipts.text(fields) { $0.pieceBytes = pieceBytes }
            #expect(text.count > 900_000)
            #expect(try MintedReceipts.verifier().items(text).count == 500)
        }
    }
}
