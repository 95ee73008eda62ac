import AppStore
import JSON
import OpenSSL
import Records
import Testing

@Suite struct ObservationTests {
    static let transaction = """
        {"transactionId":"7", "originalTransactionId" : "5","price":1e200000,"fresh":[null]}
        """

    static func observation(transaction: String? = transaction) throws -> Observation {
        let payload = try transaction.map { try JSONDocument(parsing: Array($0.utf8)).root }
        return Observation(
            source: ObservationSource(
                topic: "storekit.raw",
                partition: 3,
                offset: 1 << 40,
                timestamp: Timestamp(milliseconds: 1_767_225_600_123),
                index: 1,
                count: 2
            ),
            environment: .production,
            bundleID: "com.example",
            transaction: payload,
            notification: ObservedNotification(
                type: "SUBSCRIBED",
                subtype: nil,
                uuid: "u-1",
                signedDate: Timestamp(milliseconds: 5)
            ),
            verification: VerificationFacts(
                signedDate: Timestamp(milliseconds: 4),
                leaf: SHA256.digest([1]),
                root: SHA256.digest([2]),
                trust: .configured(SHA256.digest([2])),
                method: .jws,
                verifier: "1.0.0"
            ),
            claims: ObservationClaims(offerID: "zoë \"quoted\""),
            ingestUserID: "zoë \"quoted\"",
            owner: ObservedOwner(userID: nil, rule: "unlinked")
        )
    }

    @Test func `decoding gives back what was encoded`() throws {
        let sent = try Self.observation()
        let received = try Observation(decoding: sent.encode())
        #expect(received.source == sent.source)
        #expect(received.environment == sent.environment)
        #expect(received.bundleID == sent.bundleID)
        #expect(received.notification == sent.notification)
        #expect(received.verification == sent.verification)
        #expect(received.claims == sent.claims)
        #expect(received.ingestUserID == sent.ingestUserID)
        #expect(received.owner == sent.owner)
        #expect(received.isDuplicate == false)
        #expect(received.encode() == sent.encode())
    }

    @Test func `a payload travels in the bytes that Apple signed`() throws {
        let received = try Observation(decoding: Self.observation().encode())
        #expect(received.transaction.map { Array($0.rawBytes) } == Array(Self.transaction.utf8))
    }

    @Test func `the key names the purchase, the app transaction or the notification`() throws {
        var observation = try Self.observation()
        #expect(observation.partitionKey == Array("Production/5".utf8))
        observation.transaction = nil
        #expect(observation.partitionKey == Array("Production/notification/u-1".utf8))
        let app = #"{"appTransactionId":"704","bundleId":"com.example"}"#
        observation.appTransaction = try JSONDocument(parsing: Array(app.utf8)).root
        #expect(observation.partitionKey == Array("Production/app/704".utf8))
        observation.relinkedPurchase = "9"
        #expect(observation.partitionKey == Array("Production/9".utf8))
    }

    @Test func `without any ID the key is a digest of the payload`() throws {
        var observation = try Self.observation(transaction: nil)
        observation.notification = nil
        let app = #"{"bundleId":"com.example"}"#
        observation.appTransaction = try JSONDocument(parsing: Array(app.utf8)).root
        let expected = "Production/app/" + SHA256.digest(Array(app.utf8)).hex
        #expect(observation.partitionKey == Array(expected.utf8))
    }

    @Test(arguments: [
        ("", ObservationError.noValue),
        ("{", .notJSON(JSONError(code: .unexpectedEnd, offset: 1))),
        ("[]", .member("schemaVersion")),
        (#"{"schemaVersion":2}"#, .schemaVersion(2)),
        (#"{"schemaVersion":1}"#, .member("source")),
        (#"{"schemaVersion":1,"source":{"partition":3000000000}}"#, .member("source.partition")),
        (#"{"schemaVersion":1,"source":{"partition":0}}"#, .member("source.topic")),
    ])
    func `what no stage wrote is refused with the member's name`(
        text: String,
        expected: ObservationError
    ) {
        #expect(throws: expected) { try Observation(decoding: Array(text.utf8)) }
    }

    @Test func `every truncation is refused and none crashes`() throws {
        let bytes = try Self.observation().encode()
        for length in 0..<bytes.count {
            #expect(throws: ObservationError.self) {
                try Observation(decoding: Array(bytes[..<length]))
            }
        }
    }

    @Test func `indices that no machine holds are refused, not trapped on`() throws {
        let text = String(decoding: try Self.observation().encode(), as: UTF8.self)
        let hostile = text.replacing(#""index":1"#, with: #""index":99999999999999999999"#)
        #expect(throws: ObservationError.member("source.index")) {
            try Observation(decoding: Array(hostile.utf8))
        }
    }
}
