import AppStore
import Entitlements
import JSON
import Kafka
import OpenSSL
import Records
import Testing
import TestSupport

@Suite struct ObservationTests {
    static let transaction = """
        {"transactionId":"7", "originalTransactionId" : "5","productId":"gold",
        "purchaseDate":10,"signedDate":4,"price":1e200000,"fresh":[null]}
        """

    static func json(_ text: String?) throws -> JSONValue? {
        try text.map { try JSONDocument(parsing: Array($0.utf8)).root }
    }

    static func observation(
        transaction: String? = transaction, renewalInfo: String? = nil, appTransaction: String? = nil,
        receipt: String? = nil
    ) throws -> Observation {
        try Observation(
            SignedPayloads(
                transaction: json(transaction), renewalInfo: json(renewalInfo), appTransaction: json(appTransaction),
                receipt: json(receipt)),
            source: ObservationSource(
                RecordPosition(topic: "storekit.raw", partition: 3, offset: 1 << 40),
                timestamp: Timestamp(milliseconds: 1_767_225_600_123), index: 1, count: 2), environment: .production,
            bundleID: "com.example",
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: 4), leaf: SHA256.digest([1]), root: SHA256.digest([2]),
                trust: .configured(SHA256.digest([2])), method: .jws, verifier: "1.0.0"),
            notification: ObservedNotification(
                type: "SUBSCRIBED", subtype: nil, uuid: "u-1", signedDate: Timestamp(milliseconds: 5),
                consumptionRequestReason: "LEGAL"), claims: ObservationClaims(offerID: "zoë \"quoted\""),
            ingestUserID: "zoë \"quoted\"")
    }

    static let renewalInfo = """
        {"originalTransactionId":"5","autoRenewStatus":1,"productId":"gold","signedDate":3,
        "gracePeriodExpiresDate":70,"renewalDate":60,"isInBillingRetryPeriod":true,"priceIncreaseStatus":0,
        "appAccountToken":"7E3FB204-2A0C-4A5E-8F1E-6B1D6F0F3C11","expirationIntent":2}
        """
    static let appTransaction = """
        {"bundleId":"com.example","receiptType":"Production","receiptCreationDate":9,
        "appTransactionId":"704","originalApplicationVersion":"1.0","applicationVersion":"2",
        "originalPurchaseDate":1,"preorderDate":2,"originalPlatform":"iOS"}
        """
    static let receipt = #"{"bundleId":"com.example", "opaque":{}}"#

    static func read(_ record: ProducerRecord) throws(ObservationError) -> Observation {
        try Observation(value: record.value)
    }

    @Test func `an observation reads back as written`() throws {
        var sent = try Self.observation(
            renewalInfo: Self.renewalInfo, appTransaction: Self.appTransaction, receipt: Self.receipt)
        sent.owner = ObservedOwner(userID: nil, rule: "unlinked")
        let received = try Self.read(sent.record(for: "linked"))
        #expect(received.source == sent.source)
        #expect(received.environment == sent.environment)
        #expect(received.bundleID == sent.bundleID)
        #expect(received.notification == sent.notification)
        #expect(received.verification == sent.verification)
        #expect(received.facts == sent.facts)
        #expect(received.claims == sent.claims)
        #expect(received.ingestUserID == sent.ingestUserID)
        #expect(received.owner == sent.owner)
        #expect(received.isDuplicate == false)
        #expect(received.record(for: "linked") == sent.record(for: "linked"))
    }

    @Test func `a payload travels in the bytes that Apple signed`() throws {
        let sent = try Self.observation(renewalInfo: Self.renewalInfo, receipt: Self.receipt)
        let received = try Self.read(sent.record(for: "verified"))
        #expect(received.payloads[.transaction].map { Array($0) } == Array(Self.transaction.utf8))
        #expect(received.payloads[.renewalInfo].map { Array($0) } == Array(Self.renewalInfo.utf8))
        #expect(received.payloads[.receipt].map { Array($0) } == Array(Self.receipt.utf8))
        #expect(received.payloads[.appTransaction] == nil)
    }

    @Test func `another reader reads one object, the payloads last`() throws {
        let record = try Self.observation(renewalInfo: Self.renewalInfo).record(for: "verified")
        let value = try #require(record.value)
        let whole = try JSONDocument(parsing: value).root
        #expect(whole.members.map { $0.key.string }.last == "payloads")
        let price = try #require(whole["payloads"]?["transaction"]?["price"])
        #expect(price.rawBytes.elementsEqual("1e200000".utf8))
    }

    @Test func `the head ends at the comma that leads to the payloads`() throws {
        let value = try #require(Self.observation().record(for: "verified").value)
        let head = try #require(value.headBytes)
        let rest = value[head...]
        #expect(rest.starts(with: #","payloads":{"transaction":{"#.utf8))
    }

    @Test func `the size is known before the record is made`() throws {
        for payloads in [
            try Self.observation(), try Self.observation(transaction: nil),
            try Self.observation(renewalInfo: Self.renewalInfo, receipt: Self.receipt),
        ] {
            let encoded = payloads.encoded()
            let count = encoded.record(for: "verified").value?.count ?? 0
            #expect(count <= encoded.valueBytes)
            #expect(encoded.valueBytes - count <= 1)
        }
    }

    @Test func `the key names the account, the owner, the purchase or the notification`() throws {
        var observation = try Self.observation()
        #expect(observation.partitionKey == Array("Production/5".utf8))
        observation = try Self.observation(transaction: nil)
        #expect(observation.partitionKey == Array("Production/notification/u-1".utf8))
        observation = try Self.observation(transaction: nil, appTransaction: Self.appTransaction)
        #expect(observation.partitionKey == Array("Production/app/704".utf8))
        let record = Self.received(observation.record(for: "unique"), at: 0)
        let anna = ObservedOwner(userID: "anna", rule: "account_token")
        #expect(try record.owned(by: anna, in: nil, for: "linked", observation.inputRange).key == record.key)
        let purchase = PurchaseKey(environment: .production, bundleID: "com.example", originalTransactionID: "9")
        let nobody = ObservedOwner(userID: nil, rule: "unlinked")
        let relinking = Observation(relinking: purchase, owner: nobody)
        #expect(relinking.partitionKey == Array("Production/9".utf8))
        #expect(try Self.read(relinking.record(for: "linked")).relinkedPurchase == "9")
        let owned = Observation(relinking: purchase, owner: ObservedOwner(userID: "é/1", rule: "account_token"))
        #expect(owned.partitionKey == Array("Production/é/1".utf8))
    }

    @Test func `without any ID the key is a digest of the payload`() throws {
        let app = #"{"bundleId":"com.example","receiptCreationDate":1}"#
        var observation = try Self.observation(transaction: nil, appTransaction: app)
        observation.notification = nil
        let expected = "Production/app/" + SHA256.digest(Array(app.utf8)).hex
        #expect(observation.partitionKey == Array(expected.utf8))
    }

    /// A head of the usual form gets the member at its end, and any other is written again: both
    /// give the same.
    @Test(arguments: [true, false], [nil, InputPosition(partition: 7, offset: 3, index: 0)])
    func `a stage's addition to the head changes nothing else`(isUsual: Bool, input: InputPosition?) throws {
        var observation = try Self.observation()
        if isUsual {
            observation.claims.offerID = "spring"
            observation.ingestUserID = "zoe"
        }
        observation.input = input
        let sent = observation.record(for: "verified", headers: [KafkaHeader(name: "traceparent", text: "t")])
        let record = Self.received(sent, at: 12)
        let received = try Observation(record)
        let range = received.inputRange
        #expect((range != nil) == isUsual)
        let owner = ObservedOwner(userID: "anna", rule: "account_token")
        for (written, change) in [
            (try record.forwarded(to: "unique", range), { _ in }),
            (try record.marked(for: "unique", range), { $0.isDuplicate = true }),
            (try record.owned(by: owner, in: .production, for: "linked", range), { $0.owner = owner }),
        ] as [(ProducerRecord, (inout Observation) -> Void)] {
            var expected = received
            change(&expected)
            expected.input = InputPosition(partition: 4, offset: 12, index: 0)
            #expect(written == expected.record(for: written.topic, headers: sent.headers))
            let read = try Self.read(written)
            #expect(read.facts == received.facts)
            #expect(read.inputPosition == expected.input)
        }
        // A head that has such a member already gets another, and none twice.
        for written in [
            try record.marked(for: "unique", range), try record.owned(by: owner, in: .production, for: "linked", range),
        ] {
            let again = Self.received(written, at: 13)
            let range = try Observation(again).inputRange
            let other = ObservedOwner(userID: nil, rule: "unlinked")
            let read = try Self.read(again.owned(by: other, in: .production, for: "linked", range))
            #expect(read.owner == other && read.inputPosition?.offset == 13)
            #expect(try Self.read(again.marked(for: "unique", range)).isDuplicate)
        }
    }

    @Test func `without a record there is no input, and a body's is its position`() throws {
        let observation = try Self.observation()
        let position = InputPosition(partition: 3, offset: 1 << 40, index: 1)
        #expect(observation.inputPosition == position)
        let purchase = PurchaseKey(environment: .production, bundleID: "com.example", originalTransactionID: "9")
        let nobody = ObservedOwner(userID: nil, rule: "unlinked")
        #expect(Observation(relinking: purchase, owner: nobody).inputPosition == nil)
    }

    private static func received(_ sent: ProducerRecord, at offset: Int64) -> ConsumerRecord {
        ConsumerRecord(sent, partition: 4, at: offset)
    }
}
