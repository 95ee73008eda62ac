import JSON
import OpenSSL
import Testing
import Simulation

@testable import AppStore

/// The accepted and refused forms of a receipt around its signed content.
struct ReceiptFormTests {
    typealias Change = @Sendable (inout ReceiptForm) throws -> Void

    static func reason(_ change: Change) throws -> RefusalReason? {
        var form = ReceiptForm()
        try change(&form)
        let text = try MintedReceipts.authority.get().receiptText(MintedReceipts.fields(), form)
        return try MintedReceipts.verifier().reason(text)
    }

    @Test(
        arguments: [SignatureDigest.sha1, .sha256],
        [(false, nil), (true, nil), (false, 100), (true, 7)] as [(Bool, Int?)])
    func `SHA-1 and SHA-256, with and without signed attributes, DER and BER are accepted`(
        digest: SignatureDigest, form: (hasAttributes: Bool, pieceBytes: Int?)
    ) throws {
        let reason = try Self.reason {
            $0.digest = digest
            $0.hasSignedAttributes = form.hasAttributes
            $0.pieceBytes = form.pieceBytes
        }
        #expect(reason == nil)
    }

    @Test func `unsigned attributes are ignored`() throws {
        #expect(try Self.reason { $0.hasUnsignedAttributes = true } == nil)
    }

    @Test func `an algorithm that names digest and key at once is accepted, any other is not`() throws {
        for (algorithm, reason) in [
            ("1.2.840.113549.1.1.11", nil), ("1.2.840.113549.1.1.5", .algorithmNotAllowed),
            // PSS, and SHA-512 with RSA.
            ("1.2.840.113549.1.1.10", .algorithmNotAllowed), ("1.2.840.113549.1.1.13", .algorithmNotAllowed),
        ] as [(String, RefusalReason?)] {
            #expect(try Self.reason { $0.signatureAlgorithm = algorithm } == reason, "\(algorithm)")
        }
        // MD5, SHA-384 and SHA-512.
        for digest in ["1.2.840.113549.2.5", "2.16.840.1.101.3.4.2.2", "2.16.840.1.101.3.4.2.3"] {
            #expect(try Self.reason { $0.digestAlgorithm = digest } == .algorithmNotAllowed)
        }
    }

    @Test(arguments: 1...5) func `constructed octet strings are accepted up to a depth of four`(depth: Int) throws {
        let reason = try Self.reason {
            $0.pieceBytes = 64
            $0.pieceDepth = depth
        }
        #expect(reason == (depth <= 4 ? nil : .receiptMalformed))
    }

    @Test func `the three certificates may be in any order`() throws {
        let authority = try MintedReceipts.authority.get()
        let (leaf, middle, root) = (authority.leaf, authority.intermediate, authority.root)
        for order in [
            [leaf, middle, root], [leaf, root, middle], [middle, leaf, root], [middle, root, leaf],
            [root, leaf, middle], [root, middle, leaf],
        ] { #expect(try Self.reason { $0.certificates = order } == nil) }
    }

    @Test func `there are exactly three certificates`() throws {
        let authority = try MintedReceipts.authority.get()
        let chain = authority.chain
        for certificates in [[], [chain[0]], [chain[0], chain[1]], chain + [chain[1]]] {
            #expect(try Self.reason { $0.certificates = certificates } == .receiptMalformed)
        }
    }

    @Test func `a receipt has exactly one signer, with its certificate`() throws {
        #expect(try Self.reason { $0.signersCount = 0 } == .receiptMalformed)
        #expect(try Self.reason { $0.signersCount = 2 } == .receiptMalformed)
        let other = try MintedReceipts.authority { $0.leaf.serialNumber = 9 }
        let authority = try MintedReceipts.authority.get()
        let certificates = [other.leaf, authority.intermediate, authority.root]
        #expect(try Self.reason { $0.certificates = certificates } == .receiptMalformed)
    }

    @Test func `the content is data, and in the receipt`() throws {
        #expect(try Self.reason { $0.hasContent = false } == .receiptMalformed)
        // Digested data, which OpenSSL reads as such, and a type that it does not know.
        for type in ["1.2.840.113549.1.7.5", "1.2.3.4"] {
            #expect(try Self.reason { $0.contentType = type } == .receiptMalformed, "\(type)")
        }
    }

    @Test func `signed attributes name the right content type and digest, each once`() throws {
        let faults: [Change] = [
            { $0.namedDigest = [UInt8](repeating: 1, count: 32) }, { $0.namedDigest = [] },
            { $0.namedContentType = "1.2.840.113549.1.7.2" },
            { $0.shownContent = MintedReceipts.fields { $0.applicationVersion = "4" }.content },
            { $0.signedAttributeCopies = 2 }, { $0.signedAttributeValues = 2 },
        ]
        for fault in faults {
            let reason = try Self.reason {
                $0.hasSignedAttributes = true
                try fault(&$0)
            }
            #expect(reason == .receiptSignatureInvalid)
        }
    }

    @Test func `another key's signature, and one over other content, are refused`() throws {
        let other = try PrivateKey.generate(.rsa(bits: 2048))
        #expect(try Self.reason { $0.signerKey = other } == .receiptSignatureInvalid)
        let reason = try Self.reason { $0.shownContent = MintedReceipts.fields { $0.applicationVersion = "4" }.content }
        #expect(reason == .receiptSignatureInvalid)
    }

    @Test func `signed attributes as content are not a receipt`() throws {
        var form = ReceiptForm()
        form.hasSignedAttributes = true
        let authority = try MintedReceipts.authority.get()
        let receipt = try authority.signReceipt(MintedReceipts.fields().content, form)
        // The SET of signed attributes begins with the content type's OID.
        let marker: [UInt8] = [0x30, 0x18, 0x06, 0x09] + [42, 134, 72, 134, 247, 13, 1, 9, 3]
        let start = try #require(receipt.firstRange(of: marker)?.lowerBound)
        let attributes = DER.set(Array(receipt[start..<(start + Int(receipt[start - 1]))]))
        let key = try MintedReceipts.blueprint.get().leafKey
        var forged = ReceiptForm()
        forged.shownContent = attributes
        forged.signerKey = key
        // Signed as attributes once, so the signature over the same bytes as content is good.
        let body = try authority.signReceipt(attributes, forged)
        let reason = try MintedReceipts.verifier().reason(Base64Text.standard(body))
        #expect(reason == .receiptMalformed)
    }

    @Test func `nothing follows the receipt`() throws {
        #expect(try Self.reason { $0.trailing = [0] } == .receiptMalformed)
        #expect(try Self.reason { $0.trailing = [0x30, 0] } == .receiptMalformed)
        let followed = try Self.reason {
            $0.pieceBytes = 50
            $0.trailing = [0, 0]
        }
        #expect(followed == .receiptMalformed)
    }

    @Test func `every cut is refused`() throws {
        let receipt = try MintedReceipts.authority.get().signReceipt(MintedReceipts.fields().content)
        let verifier = try MintedReceipts.verifier()
        for count in stride(from: 0, to: receipt.count, by: 13) {
            let text = Base64Text.standard(Array(receipt[..<count]))
            #expect(verifier.reason(Body.receipt(text)) == .receiptMalformed, "\(count) bytes")
        }
    }

    @Test func `line breaks are allowed, other alphabets and missing padding are not`() throws {
        let text = try MintedReceipts.text()
        let verifier = try MintedReceipts.verifier()
        for ending in ["\n", "\r\n"] {
            let lines = stride(from: 0, to: text.count, by: 64).map { start in
                Array(text[start..<min(start + 64, text.count)]) + Array(ending.utf8)
            }
            let broken = Array(lines.joined())
            #expect(verifier.reason(broken) == nil)
            #expect(verifier.reason(Body.receipt(broken)) == nil)
        }
        // A receipt of another length, so that its text ends with padding.
        var padded = text
        var version = "3.1"
        while padded.last != UInt8(ascii: "=") {
            version += "1"
            padded = try MintedReceipts.text(MintedReceipts.fields { $0.applicationVersion = version })
        }
        #expect(verifier.reason(padded) == nil)
        let unpadded = Array(padded.prefix { $0 != UInt8(ascii: "=") })
        #expect(verifier.reason(Body.receipt(unpadded)) == .receiptMalformed)
        #expect(verifier.reason(unpadded) == .receiptMalformed)
        let other = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 }
        #expect(other != text && verifier.reason(Body.receipt(other)) == .receiptMalformed)
        #expect(verifier.reason(Body.receipt([0x20] + text)) == .receiptMalformed)
        #expect(verifier.reason(Body.receipt([])) == .receiptMalformed)
    }

    @Test func `two hundred records and eighty thousand bytes are ordinary`() throws {
        let fields = MintedReceipts.fields { fields in
            fields.records = (0..<200).map { index in
                var record = ReceiptRecordFields()
                record.transactionID = "10000000\(index)"
                record.further = [ReceiptFields.attribute(1722, [UInt8](repeating: 7, count: 150))]
                return record
            }
        }
        let text = try MintedReceipts.text(fields)
        #expect(text.count > 80_000)
        let items = try MintedReceipts.verifier().items(text)
        #expect(items.count == 200)
        #expect(items.last?.transaction?.fields.transactionID?.string == "10000000199")
        let few = try MintedReceipts.verifier(limits: VerifierLimits(itemsMax: 199))
        #expect(few.reason(text) == .payloadTooLarge)
    }
}
