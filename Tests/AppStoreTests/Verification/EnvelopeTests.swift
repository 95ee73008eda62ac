import AppStore
import JSON
import TestSupport
import Testing
import Simulation

/// The shapes of bodies, and the items taken out of them.
struct EnvelopeTests {
    static func text(_ token: [UInt8]) -> String { String(decoding: token, as: UTF8.self) }

    @Test func `each of the four kinds is accepted as a bare JWS`() throws {
        let verifier = try Minted.verifier()
        let transaction = try verifier.items(Minted.transaction())
        #expect(transaction.count == 1 && transaction[0].transaction != nil)
        #expect(transaction[0].bundleID?.text == Minted.bundleID)
        let renewal = try verifier.items(Minted.renewal())
        #expect(renewal.count == 1 && renewal[0].renewalInfo != nil && renewal[0].bundleID == nil)
        let app = try verifier.items(Minted.appTransaction())
        #expect(app.count == 1 && app[0].appTransaction != nil)
        let notification = try verifier.items(Minted.notification())
        #expect(notification.count == 1 && notification[0].notification != nil)
        #expect(notification[0].transaction == nil && notification[0].bundleID != nil)
    }

    @Test func `a list of bodies is refused, and the detail says why`() throws {
        let body = #"[{"signedTransaction":"\#(Self.text(try Minted.transaction()))"}]"#
        let refusal = try Minted.verifier().refusal(Array(body.utf8))
        #expect(refusal.reason == .bodyUnrecognized)
        #expect(refusal.detail == "the body is not a JSON object")
    }

    @Test func `whitespace around a bare JWS or an object is ignored`() throws {
        let verifier = try Minted.verifier()
        let token = try Minted.transaction()
        let envelope = Body.transaction(token)
        for body in [token, envelope] {
            let spaced = Array(" \t\r\n".utf8) + body + Array("\n\u{B}\u{C} ".utf8)
            #expect(verifier.reason(spaced) == nil)
        }
        let inside = #"{"signedTransaction":" \#(Self.text(token))"}"#
        #expect(verifier.reason(inside) == .jwsMalformed)
    }

    @Test func `a notification gives one observation with all that is inside`() throws {
        let verifier = try Minted.verifier()
        let transaction = try Minted.transaction()
        let renewal = try Minted.renewal()
        let body = Body.notification(try Minted.notification(transaction: transaction, renewal: renewal))
        let items = try verifier.items(body)
        #expect(items.count == 1)
        let item = try #require(items.first)
        #expect(item.transaction != nil && item.renewalInfo != nil && item.appTransaction == nil)
        #expect(item.observedNotification?.type == "SUBSCRIBED")
        #expect(item.observedNotification?.uuid == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        let only = try verifier.items(Minted.notification(renewal: renewal))
        #expect(only.count == 1 && only[0].renewalInfo != nil && only[0].bundleID == nil)
        #expect(only[0].notification != nil)
    }

    @Test func `a null inside a notification is absent, an empty text is not`() throws {
        let verifier = try Minted.verifier()
        let absent = try Minted.notification { $0.overrides["signedTransactionInfo"] = "null" }
        #expect(verifier.reason(absent) == nil)
        let empty = try Minted.notification { $0.signedTransactionInfo = "" }
        #expect(verifier.reason(empty) == .jwsMalformed)
    }

    @Test(arguments: ["7", "true", "{}", "[]", #"["a.b.c"]"#])
    func `a notification with an item that is not text is refused`(value: String) throws {
        let verifier = try Minted.verifier()
        for name in ["signedTransactionInfo", "signedRenewalInfo"] {
            let body = try Minted.notification { $0.overrides[name] = value }
            #expect(verifier.reason(body) == .payloadMalformed, "\(name)")
        }
        var fields = NotificationFields()
        fields.notificationType = "RESCIND_CONSENT"
        fields.appData = Array(
            """
            {"appAppleId":1234567890,"bundleId":"com.example.pro","environment":"Production",\
            "signedAppTransactionInfo":\(value)}
            """.utf8)
        #expect(verifier.reason(try Minted.sign(fields.json)) == .payloadMalformed)
    }

    @Test func `a notification about an app holds its app transaction`() throws {
        let inner = Self.text(try Minted.appTransaction())
        var fields = NotificationFields()
        fields.notificationType = "RESCIND_CONSENT"
        fields.appData = Array(
            """
            {"appAppleId":1234567890,"bundleId":"com.example.pro","environment":"Production",\
            "signedAppTransactionInfo":"\(inner)"}
            """.utf8)
        let items = try Minted.verifier().items(Minted.sign(fields.json))
        #expect(items.count == 1 && items[0].appTransaction != nil)
        #expect(items[0].notification != nil && items[0].bundleID?.text == Minted.bundleID)
    }

    @Test func `an app's post keeps its claims apart`() throws {
        let body = Body.transaction(
            try Minted.transaction(),
            claims: [
                "transactionID": #""2000000000000001""#, "productID": #""com.example.pro.monthly""#,
                "userID": #""user \u00e9""#, "offerID": "null",
            ])
        let item = try #require(try Minted.verifier().items(body).first)
        #expect(item.claims.transactionID == "2000000000000001")
        #expect(item.claims.offerID == nil && item.claims.originalTransactionID == nil)
    }

    @Test func `a history is independent purchases, in order`() throws {
        let tokens = try (1...5).map { number in
            try Minted.transaction {
                $0.transactionID = "\(number)"
                $0.originalTransactionID = "\(number)"
            }
        }
        let items = try Minted.verifier().items(Body.history(tokens))
        #expect(items.map { $0.transaction?.fields.transactionID?.string } == ["1", "2", "3", "4", "5"])
    }

    @Test func `the API's answers about one purchase are read`() throws {
        let verifier = try Minted.verifier()
        let transaction = try Minted.transaction()
        let renewal = try Minted.renewal()
        #expect(try verifier.items(Body.transactionInfo(transaction)).count == 1)
        let app = try Minted.appTransaction()
        #expect(try verifier.items(Body.appTransactionInfo(app)).first?.appTransaction != nil)
        let pair = """
            {"signedRenewalInfo":"\(Self.text(renewal))","added":{"later":[1e400]},
            "signedTransactionInfo":"\(Self.text(transaction))"}
            """
        let items = try verifier.items(Array(pair.utf8))
        #expect(items.count == 1)
        #expect(items.first?.transaction != nil && items.first?.renewalInfo != nil)
        let statuses = Body.subscriptionStatuses(
            environment: "Production", bundleID: Minted.bundleID, originalTransactionID: "2000000000000001",
            transaction: transaction, renewal: renewal)
        #expect(try verifier.items(statuses).first?.renewalInfo != nil)
    }

    @Test func `a notification history`() throws {
        let body = Body.notificationHistory([
            try Minted.notification(), try Minted.notification(transaction: Minted.transaction()),
        ])
        let items = try Minted.verifier().items(body)
        #expect(items.count == 2 && items[0].transaction == nil && items[1].transaction != nil)
    }

    @Test(arguments: [
        #"{"signedTransactions":[]}"#, #"{"notificationHistory":[],"hasMore":false}"#, #"{"data":[]}"#,
        #"{"data":[{"lastTransactions":[]}]}"#,
    ]) func `a response without items is ignored`(body: String) throws {
        guard case .success(.ignored(.emptyResponse)) = try Minted.verifier().verify(Array(body.utf8)) else {
            Issue.record("not ignored")
            return
        }
    }

    @Test func `null and empty are distinguished`() throws {
        let verifier = try Minted.verifier()
        for (body, detail) in [(nil, "null"), ([], "empty"), (Array(" \n".utf8), "only whitespace")]
            as [([UInt8]?, String)]
        {
            let refusal = try verifier.refusal(body)
            #expect(refusal.reason == .bodyUnrecognized && refusal.detail == detail)
        }
    }

    @Test(arguments: [
        ("hello", RefusalReason.bodyUnrecognized), ("eyJ", .jwsMalformed), ("eyJhbGciOiJFUzI1NiJ9", .jwsMalformed),
        (".", .jwsMalformed), ("a.b", .jwsMalformed), ("....", .jwsMalformed), ("a.b c", .bodyUnrecognized),
        ("\"eyJ\"", .bodyUnrecognized), ("123", .bodyUnrecognized), ("null", .bodyUnrecognized),
        ("[]", .bodyUnrecognized), ("[", .envelopeMalformed), ("{", .envelopeMalformed), ("{}", .bodyUnrecognized),
        ("\u{FEFF}{}", .envelopeMalformed), ("{} {}", .envelopeMalformed), (#"{"a":1,"a":1}"#, .envelopeMalformed),
        (#"{"a":"\u0000"}"#, .envelopeMalformed), (#"{"a":"\ud800"}"#, .envelopeMalformed),
        (#"{"signedPayload":null}"#, .bodyUnrecognized), (#"{"signedPayload":7}"#, .bodyUnrecognized),
        (#"{"signedPayload":""}"#, .jwsMalformed),
        (#"{"signedPayload":"a.b.c","signedTransaction":"a.b.c"}"#, .bodyUnrecognized),
        (#"{"signedTransactionInfo":"a","signedTransactions":[]}"#, .bodyUnrecognized),
        (#"{"signedTransactionInfo":7}"#, .bodyUnrecognized), (#"{"signedTransactions":{}}"#, .bodyUnrecognized),
        (#"{"signedTransactions":[7]}"#, .envelopeMalformed), (#"{"signedTransactions":[null]}"#, .envelopeMalformed),
        (#"{"data":{}}"#, .bodyUnrecognized), (#"{"data":[7]}"#, .bodyUnrecognized),
        (#"{"data":[{"lastTransactions":[{}]}]}"#, .envelopeMalformed),
        (#"{"notificationHistory":[{"signedPayload":null}]}"#, .envelopeMalformed),
        (#"{"receipt-data":7}"#, .bodyUnrecognized),
        (#"{"receipt-data":"MIIT","signedPayload":"a.b.c"}"#, .bodyUnrecognized),
        (#"{"receipt-data":"MIIT"}"#, .receiptMalformed), ("MIIT\r\nabc+/=", .receiptMalformed),
        ("MIIT abc", .bodyUnrecognized), ("MI.AA", .jwsMalformed), ("MIIT-_", .bodyUnrecognized),
        ("ewoJInNpZ25hdHVyZSI=", .bodyUnrecognized),
    ]) func `each shape of a body is recognised or refused`(body: String, reason: RefusalReason) throws {
        #expect(try Minted.verifier().reason(body) == reason)
    }

    @Test(
        arguments: [
            [0xFE, 0xFF, 0x00, 0x7B], [0xFF, 0xFE, 0x7B, 0x00], [0x00, 0x00, 0xFE, 0xFF],
            [0xEF, 0xBB, 0xBF, 0x7B, 0x7D],
        ] as [[UInt8]]) func `a byte order mark marks JSON, which is refused`(body: [UInt8]) throws
    { #expect(try Minted.verifier().reason(body) == .envelopeMalformed) }

    @Test(.needsSharedData, arguments: ["receipt-sandbox-g5", "receipt-xcode", "receipt-xcode-with-purchases"])
    func `genuine receipts are recognised, bare and posted`(name: String) throws {
        let receipt = try SharedData.vector("receipts/\(name)")
        let verifier = try Minted.verifier()
        let isLocal = name.contains("xcode")
        let reason = isLocal ? RefusalReason.receiptMalformed : .bundleMismatch
        #expect(verifier.reason(receipt) == reason)
        let text = String(decoding: receipt, as: UTF8.self).filter { !$0.isWhitespace }
        #expect(verifier.reason(#"{"receipt-data":"\#(text)"}"#) == reason)
    }

    @Test func `a token may be written with escapes`() throws {
        let token = Self.text(try Minted.transaction())
        let body = #"{"signedTransaction":"\u0065\#(token.dropFirst())"}"#
        #expect(try Minted.verifier().reason(body) == nil)
    }
}
