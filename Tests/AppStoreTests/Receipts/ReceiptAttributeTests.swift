import AppStore
import JSON
import OpenSSL
import Testing
import Simulation

/// The facts read from the attributes of a receipt.
struct ReceiptAttributeTests {
    static func json(_ value: JSONValue?) -> String {
        value.map { String(decoding: $0.rawBytes, as: UTF8.self) } ?? "none"
    }

    @Test func `a record is a transaction in the shape that a JWS has`() throws {
        let fields = MintedReceipts.record {
            $0.quantity = 3
            $0.transactionID = "2000000000000009"
            $0.expiresDate = 1_769_817_600_000
            $0.webOrderLineItemID = 2_000_000_000_000_077
            $0.cancellationDate = 1_768_000_000_000
            $0.isInIntroOfferPeriod = true
            $0.further = [ReceiptFields.attribute(1713, integer: 0), ReceiptFields.attribute(1721, text: "winter")]
        }
        let item = try #require(try MintedReceipts.items(fields).first)
        #expect(item.environment == .production && item.bundleID?.text == Minted.bundleID)
        #expect(
            Self.json(item.transaction?.json) == """
                {"quantity":3,"productId":"com.example.pro.monthly",\
                "transactionId":"2000000000000009","purchaseDate":1767225600000,\
                "originalTransactionId":"2000000000000001",\
                "originalPurchaseDate":1767225600000,"type":"Auto-Renewable Subscription",\
                "expiresDate":1769817600000,"webOrderLineItemId":"2000000000000077",\
                "revocationDate":1768000000000,"isTrialPeriod":false,\
                "isInIntroOfferPeriod":true,"offerIdentifier":"winter",\
                "bundleId":"com.example.pro","environment":"Production",\
                "signedDate":1767225601000,\
                "receiptAttributes":[{"type":1710,"version":1,"value":"AgEA"}]}
                """)
        #expect(item.verification.method == .receipt && item.malformedFields == 0)
        #expect(item.verification.signedDate.milliseconds == 1_767_225_601_000)
    }

    @Test func `fields that a receipt lacks are absent, not invented`() throws {
        let fields = MintedReceipts.record {
            $0.quantity = nil
            $0.originalPurchaseDate = nil
            $0.productType = 1
            $0.isInIntroOfferPeriod = nil
        }
        let item = try #require(try MintedReceipts.items(fields).first)
        #expect(
            Self.json(item.transaction?.json) == """
                {"productId":"com.example.pro.monthly","transactionId":"2000000000000001",\
                "purchaseDate":1767225600000,"originalTransactionId":"2000000000000001",\
                "bundleId":"com.example.pro","environment":"Production",\
                "signedDate":1767225601000,\
                "receiptAttributes":[{"type":1707,"version":1,"value":"AgEB"},\
                {"type":1710,"version":1,"value":"AgEA"}]}
                """)
    }

    @Test func `the receipt's own attributes go with each record, unknown ones too`() throws {
        let fields = MintedReceipts.fields {
            $0.expirationDate = 1_800_000_000_000
            $0.further = [
                ReceiptFields.attribute(9999, [1, 2, 3]), ReceiptFields.attribute(9999, [0]),
                ReceiptFields.attribute(10, date: "17+"),
            ]
        }
        let item = try #require(try MintedReceipts.items(fields).first)
        let hash = Base64Text.standard(Array(SHA256.digest([1]).bytes.prefix(20)))
        #expect(
            Self.json(item.receipt) == """
                {"receiptType":"Production","appAppleId":1234567890,\
                "bundleId":"com.example.pro","applicationVersion":"3.1",\
                "opaqueValue":"AQIDBAUGBwgJCgsMDQ4PEA==",\
                "deviceHash":"\(String(decoding: hash, as: UTF8.self))",\
                "ageRating":"17+","receiptCreationDate":1767225601000,\
                "originalPurchaseDate":1735689600000,"originalApplicationVersion":"1.0",\
                "expirationDate":1800000000000,\
                "attributes":[{"type":14,"version":1,"value":"AgIA5Q=="},\
                {"type":9999,"version":1,"value":"AA=="},\
                {"type":9999,"version":1,"value":"AQID"}]}
                """)
        #expect(item.transaction?.json["receiptExpirationDate"]?.int64 == 1_800_000_000_000)
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 18, 19, 21])
    func `a receipt with a duplicate known attribute is refused`(number: Int) throws {
        let twice = ReceiptFields.attribute(number, text: "x")
        let fields = MintedReceipts.fields { $0.further = [twice, twice] }
        #expect(try MintedReceipts.reason(fields) == .receiptMalformed)
    }

    @Test(arguments: Array(1701...1708) + [1711, 1712, 1713, 1719, 1721])
    func `a record with a duplicate known attribute is refused`(number: Int) throws {
        let twice = ReceiptFields.attribute(number, text: "x")
        let fields = MintedReceipts.record { $0.further = [twice, twice] }
        #expect(try MintedReceipts.reason(fields) == .receiptMalformed)
    }

    @Test func `a record without its IDs, product or date refuses the receipt`() throws {
        let faults: [(inout ReceiptRecordFields) -> Void] = [
            { $0.transactionID = nil }, { $0.originalTransactionID = nil }, { $0.productID = nil },
            { $0.purchaseDate = nil }, { $0.transactionID = "" }, { $0.productID = String(repeating: "x", count: 256) },
            {
                $0.transactionID = nil
                $0.further = [ReceiptFields.attribute(1703, integer: 7)]
            },
            {
                $0.purchaseDate = nil
                $0.further = [ReceiptFields.attribute(1704, date: "yesterday")]
            }, { $0.productID = "a\0b" },
        ]
        for fault in faults { #expect(try MintedReceipts.reason(MintedReceipts.record(fault)) == .receiptMalformed) }
    }

    @Test func `equal records are merged, different ones of an ID refuse the receipt`() throws {
        let equal = MintedReceipts.fields { $0.records.append($0.records[0]) }
        #expect(try MintedReceipts.items(equal).count == 1)
        let different = MintedReceipts.fields {
            $0.records.append($0.records[0])
            $0.records[1].expiresDate = 1_769_817_600_000
        }
        #expect(try MintedReceipts.reason(different) == .receiptMalformed)
        let others = MintedReceipts.fields {
            $0.records.append($0.records[0])
            $0.records[1].transactionID = "2"
        }
        #expect(try MintedReceipts.items(others).count == 2)
    }

    @Test func `an optional attribute of another form is carried, treated as absent, and counted`() throws {
        let fields = MintedReceipts.record {
            $0.quantity = nil
            $0.further = [ReceiptFields.attribute(1701, text: "one"), ReceiptFields.attribute(1713, integer: 2)]
        }
        let item = try #require(try MintedReceipts.items(fields).first)
        #expect(item.malformedFields == 2)
        #expect(item.transaction?.fields.quantity == nil)
        let carried = item.transaction?.json["receiptAttributes"]
        #expect(carried?.elements.compactMap { $0["type"]?.int64 } == [1701, 1710, 1713])
    }

    @Test func `the signed content is one set of attributes, and nothing else`() throws {
        let authority = try MintedReceipts.authority.get()
        let verifier = try MintedReceipts.verifier()
        let good = MintedReceipts.fields().content
        let faults: [[UInt8]] = [
            [], [0x31, 0], good + [0], Array(good.dropLast()), DER.sequence([[1, 1, 0xFF]]),
            DER.set(DER.sequence([DER.integer(1)])), DER.set(DER.integer(1)),
            DER.set(DER.sequence([DER.integer(1), DER.integer(1), DER.utf8String("x")])), [0x31, 0x80, 0, 0],
        ]
        for content in faults {
            let text = Base64Text.standard(try authority.signReceipt(content))
            #expect(verifier.reason(text) == .receiptMalformed)
        }
    }

    @Test func `an attribute is a type, a version and a value, and nothing else`() throws {
        let whole = [DER.integer(9_000), DER.integer(1), DER.octetString([0])]
        for (rest, reason) in [
            ([], nil), ([DER.integer(1)], RefusalReason.receiptMalformed), ([DER.octetString([])], .receiptMalformed),
            ([[0]], .receiptMalformed),
        ] {
            let attribute = DER.sequence(whole + rest)
            let ofReceipt = MintedReceipts.fields { $0.further = [attribute] }
            #expect(try MintedReceipts.reason(ofReceipt) == reason)
            let ofRecord = MintedReceipts.record { $0.further = [attribute] }
            #expect(try MintedReceipts.reason(ofRecord) == reason)
        }
    }

    @Test func `a receipt without records is genuine and holds nothing`() throws {
        let fields = MintedReceipts.fields { $0.records = [] }
        let result = try MintedReceipts.verifier().verify(MintedReceipts.text(fields))
        guard case .success(.ignored(.emptyReceipt)) = result else {
            Issue.record("not ignored: \(result)")
            return
        }
        let forged = try MintedReceipts.text(fields) { $0.shownContent = [0x31, 0] }
        #expect(try MintedReceipts.verifier().reason(forged) == .receiptSignatureInvalid)
    }

    @Test func `there are bounds to how many attributes a receipt has`() throws {
        let many = (0..<300).map { ReceiptFields.attribute(9_000 + $0, [0]) }
        #expect(try MintedReceipts.reason(MintedReceipts.fields { $0.further = many }) == .receiptMalformed)
        #expect(try MintedReceipts.reason(MintedReceipts.record { $0.further = many }) == .receiptMalformed)
    }
}
