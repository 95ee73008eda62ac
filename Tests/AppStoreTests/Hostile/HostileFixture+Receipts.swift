import AppStore
import OpenSSL
import Simulation

extension HostileFixture {
    /// Forged and broken receipts of a hundred records, or of as many bytes.
    static func receipts(_ authority: CertificateAuthority, _ count: Int) throws -> [HostileCase] {
        let fields = receiptFields
        let forger = try CertificateAuthority(AuthorityBlueprint.receipts(name: "Forger's"))
        var otherKey = ReceiptForm()
        otherKey.signerKey = try .generate(.rsa(bits: 2048))
        var pieces = ReceiptForm()
        pieces.pieceBytes = 1
        pieces.signerKey = otherKey.signerKey
        var wrongDigest = ReceiptForm()
        wrongDigest.hasSignedAttributes = true
        wrongDigest.namedDigest = [UInt8](repeating: 7, count: 32)
        var otherDigest = ReceiptForm()
        otherDigest.digestAlgorithm = "2.16.840.1.101.3.4.2.3"
        var incomplete = fields
        incomplete.records[99].transactionID = nil
        let noise = Array("MI".utf8) + [UInt8](repeating: 0x41, count: count / 4 * 4 - 2)
        let open = [UInt8]([[0x30, 0x82, 0x00], [UInt8](repeating: 0x30, count: count / 2)].joined())
        // In the style of iOS 6, and all but the key that is looked for.
        let hint = [UInt8]("\"purchase-inf".utf8)
        let legacy = [0x7B] + Array(repeating: hint, count: count * 3 / 4 / hint.count).joined()
        let broken: [(String, CertificateAuthority, ReceiptFields, ReceiptForm, RefusalReason)] = [
            ("a forged receipt chain", forger, fields, ReceiptForm(), .rootUntrusted),
            ("a receipt signed by another", authority, fields, otherKey, forged),
            ("a receipt in pieces of a byte", authority, fields, pieces, .receiptMalformed),
            ("a receipt of another digest", authority, fields, wrongDigest, forged),
            ("a receipt over SHA-512", authority, fields, otherDigest, .algorithmNotAllowed),
            ("its last record incomplete", authority, incomplete, ReceiptForm(), .receiptMalformed),
        ]
        let signed = try broken.map { name, authority, fields, form, reason in
            (name, Body.receipt(try authority.receiptText(fields, form)), reason)
        }
        let endless = [("iOS 6", legacy), ("BER", open)].map { form, bytes in
            (
                "a receipt of \(form) without end", Body.receipt(Base64Text.standard(bytes)),
                RefusalReason.receiptMalformed
            )
        }
        return HostileCase.all(by: .receipt, [("a receipt of noise", noise, .receiptMalformed)] + endless + signed)
    }

    private static let forged = RefusalReason.receiptSignatureInvalid

    /// The same with as many records as are allowed, and with far more.
    static func largeReceipts(_ authority: CertificateAuthority) throws -> [HostileCase] {
        var otherKey = ReceiptForm()
        otherKey.signerKey = try .generate(.rsa(bits: 2048))
        var many = receiptFields
        many.further = Array(repeating: ReceiptFields.attribute(17, DER.set([])), count: 50_000)
        var attributes = receiptFields
        attributes.further = (0..<20_000).map { ReceiptFields.attribute(10_000 + $0, [0]) }
        let rows: [(String, ReceiptFields, ReceiptForm, RefusalReason)] = [
            ("a large receipt signed by another", largeReceiptFields, otherKey, forged),
            ("50,000 in-app records", many, ReceiptForm(), .payloadTooLarge),
            ("20,000 attributes", attributes, ReceiptForm(), .receiptMalformed),
        ]
        return HostileCase.all(
            by: .largeReceipt,
            try rows.map { name, fields, form, reason in
                (name, Body.receipt(try authority.receiptText(fields, form)), reason)
            })
    }
}
