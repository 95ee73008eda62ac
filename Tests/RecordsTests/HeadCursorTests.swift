import AppStore
import Entitlements
import Kafka
import OpenSSL
import Records
import TestSupport
import Testing

/// A head that is read in order, without a document, is read as the document would be.
@Suite struct HeadCursorTests {
    @Test(arguments: Scenario.names) func `heads are read in order as stages write them`(name: String) throws {
        for sent in try Scenario.load(name).observations {
            var sent = sent
            try Self.expectReadInOrder(sent)
            sent.isDuplicate = true
            sent.owner = ObservedOwner(userID: "anna", rule: "account_token")
            sent.input = InputPosition(partition: 11, offset: 1_200, index: 0)
            try Self.expectReadInOrder(sent)
        }
        let relinking = Observation(
            relinking: PurchaseKey(environment: .production, bundleID: "com.example", originalTransactionID: "7"),
            owner: ObservedOwner(userID: nil, rule: "unlinked"))
        try Self.expectReadInOrder(relinking)
    }

    /// All possible members of a head except commerce items.
    private static func fullest() throws -> Observation {
        let transaction = """
            {"transactionId":"2000000900000007","originalTransactionId":"5","productId":"gold",
            "purchaseDate":10,"signedDate":4,"type":"Auto-Renewable Subscription","quantity":1,
            "expiresDate":20,"revocationDate":15,"revocationReason":1,"isUpgraded":true,
            "inAppOwnershipType":"FAMILY_SHARED","subscriptionGroupIdentifier":"21000001",
            "webOrderLineItemId":"77","transactionReason":"RENEWAL",
            "additionalTransactionReason":"seatAddition","revokedSeatQuantity":2,
            "appAccountToken":"7e3fb204-2a0c-4a5e-8f1e-6b1d6f0f3c11","appTransactionId":"704"}
            """
        var observation = try ObservationTests.observation(
            transaction: transaction, renewalInfo: ObservationTests.renewalInfo,
            appTransaction: ObservationTests.appTransaction, receipt: ObservationTests.receipt)
        observation.claims = ObservationClaims(
            transactionID: "7", originalTransactionID: "5", productID: "gold", offerID: "spring")
        observation.ingestUserID = "anna"
        observation.isDuplicate = true
        observation.owner = ObservedOwner(userID: nil, rule: "unlinked")
        observation.input = InputPosition(partition: 11, offset: 1_200, index: 0)
        return observation
    }

    @Test func `all members are read in order`() throws { try Self.expectReadInOrder(Self.fullest()) }

    /// Each changed, lost and doubled byte: a head that is read in order equals its document.
    @Test func `a head read in order equals its document`() throws {
        let (value, headBytes) = try Self.written(Self.fullest())
        let bytes = [0x00, 0x20, 0x22, 0x2C, 0x2D, 0x30, 0x39, 0x5C, 0x6E, 0x7B, 0x7D, 0xC3]
        var readCount = 0
        for index in 0...headBytes {
            for byte in bytes {
                var changed = value
                changed[index] = UInt8(byte)
                readCount += Self.expectSame(changed) ? 1 : 0
            }
            var shorter = value
            shorter.remove(at: index)
            readCount += Self.expectSame(shorter) ? 1 : 0
            var longer = value
            longer.insert(value[index], at: index)
            readCount += Self.expectSame(longer) ? 1 : 0
        }
        #expect(readCount > 100, "hardly a changed head was read in order")
    }

    @Test(arguments: [
        (#"{"schemaVersion":1"#, #"{ "schemaVersion":1"#),
        (#""partition":3"#, #""later":{"a":[1,null]},"partition":3"#),
        (#""topic":"storekit.raw","partition":3"#, #""partition":3,"topic":"storekit.raw""#),
        (#""userID":null"#, #""userID":"anna""#), (#""userID":null"#, #""userID":"zo\u00eb""#),
        (#""userID":null"#, #""userID":"zoë""#), (#""quantity":1"#, #""quantity":-1"#),
        (#""quantity":1"#, #""quantity":1.0"#), (#""quantity":1"#, #""quantity":null"#), (#""quantity":1,"#, ""),
        (#""rule":"unlinked"}"#, #""rule":"unlinked","since":1}"#), (#""offset":1200}"#, #""offset":1200,"index":0}"#),
        (#","input":{"partition":11,"offset":1200}"#, ""), (#""offset":1200}"#, #""offset":1200},"later":2"#),
        (#""appTransactionID":"704"}"#, #""appTransactionID":"704","items":[{"SKU":"a"}]}"#),
        (#""isDuplicate":true,"owner""#, #""later":0,"isDuplicate":true,"owner""#),
    ]) func `a head of another form is read as well`(former: String, other: String) throws {
        let (value, headBytes) = try Self.written(Self.fullest())
        let head = String(decoding: value[..<headBytes], as: UTF8.self)
        try #require(head.contains(former), "\(head)")
        let record = Array(head.replacing(former, with: other).utf8) + value[headBytes...]
        _ = Self.expectSame(record)
        let parsed = try Observation(parsing: record)
        let read = try Observation(value: record)
        #expect(read.record(for: "unique") == parsed.record(for: "unique"))
        #expect(read.facts == parsed.facts)
    }

    private static func written(_ observation: Observation) throws -> ([UInt8], Int) {
        let value = try #require(observation.record(for: "verified").value)
        return (value, try #require(value.headBytes))
    }

    private static func expectReadInOrder(_ sent: Observation) throws {
        let (value, headBytes) = try written(sent)
        let head = String(decoding: value[..<headBytes], as: UTF8.self)
        let isPlain = value[..<headBytes].allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "\\") }
        let isExpected = isPlain && !head.contains(#""items":"#)
        let read = expectSame(value)
        #expect(read == isExpected, "\(head)")
    }

    /// Whether the head is read in order, which then must equal its document.
    private static func expectSame(_ value: [UInt8]) -> Bool {
        guard let read = try? Observation(inOrder: value) else { return false }
        let head = String(decoding: value, as: UTF8.self)
        do {
            let parsed = try Observation(parsing: value)
            #expect(read.facts == parsed.facts, "\(head)")
            #expect(read.input == parsed.input, "\(head)")
            #expect(read.record(for: "unique") == parsed.record(for: "unique"), "\(head)")
        } catch { Issue.record("read in order, and refused as a document: \(error): \(head)") }
        return true
    }
}
