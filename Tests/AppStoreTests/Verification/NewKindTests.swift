import AppStore
import Simulation
import Testing

/// Genuine payloads of a kind that Apple added after this version.
@Suite struct NewKindTests {
    /// A notification whose only object has this name and these members.
    private static func notification(
        _ type: String, _ name: String, _ members: String, _ change: (inout NotificationFields) -> Void = { _ in }
    ) throws -> [UInt8] {
        var fields = NotificationFields()
        fields.notificationType = type
        fields.overrides[name] = "{\(members)}"
        change(&fields)
        return try Minted.sign(fields.json)
    }

    private static let app = #""bundleId":"com.example.pro","environment":"Production""#
    private static let seats = #""unclaimSeatIds":["2d7b8f62-3c46-4a51-9d6e-5f6f0d1c2b3a"]"#
    /// A payload of an unknown kind, alone or for an app that one of its objects names.
    private static func unknown(_ members: String = #""gift":{"sku":"x"}"#) throws -> [UInt8] {
        try Minted.sign(Array(#"{\#(members),"signedDate":1767225601000}"#.utf8))
    }

    private static func ignored(_ body: [UInt8]) throws -> String? {
        guard case .success(.ignored(let reason)) = try Minted.verifier().verify(body) else { return nil }
        return reason.rawValue
    }

    @Test(arguments: ["unclaimInfo", "pledgeInfo"], ["Production", "Sandbox"])
    func `a notification with a body of another name is of the app that the body names`(
        name: String, environment: String
    ) throws {
        let app = #""bundleId":"com.example.pro","environment":"\#(environment)""#
        for number in ["", #","appAppleId":1234567890"#] {
            let members = "\(app),\(Self.seats)\(number)"
            let body = try Self.notification("UNCLAIM_SEATS", name, members)
            let items = try Minted.verifier().items(Body.notification(body))
            #expect(items.count == 1)
            #expect(items.first?.bundleID?.text == Minted.bundleID)
            #expect(items.first?.environment.rawValue == environment)
            #expect(items.first?.observedNotification?.type == "UNCLAIM_SEATS")
        }
    }

    @Test(arguments: ["unclaimInfo", "pledgeInfo"])
    func `a new kind of another app, number or environment is misrouted as any other`(name: String) throws {
        let verifier = try Minted.verifier()
        for (members, reason) in [
            (#""bundleId":"com.example.other","environment":"Production""#, .bundleMismatch),
            (#""bundleId":"com.example.other""#, .bundleMismatch), (Self.app + #","appAppleId":1"#, .appMismatch),
            (#""bundleId":"com.example.pro","environment":"Xcode""#, .environmentMismatch),
        ] as [(String, RefusalReason)] {
            let body = try Self.notification("UNCLAIM_SEATS", name, members)
            #expect(verifier.reason(body) == reason, "\(members)")
            #expect(verifier.reason(Body.notificationHistory([body])) == reason, "\(members)")
        }
    }

    @Test(arguments: [
        ("unclaimInfo", seats), ("pledgeInfo", #""pledge":7"#), ("unclaimInfo", #""bundleId":"com.example.pro""#),
        ("data", #""status":1"#), ("summary", #""bundleId":null"#), ("externalPurchaseToken", ""),
    ]) func `a notification that names no app is ignored for its own reason`(name: String, members: String) throws {
        #expect(try Self.ignored(Self.notification("NEWS", name, members)) == "unknown_kind")
    }

    @Test func `a documented body decides before any other object`() throws {
        let body = try Self.notification("NEWS", "aside", #""bundleId":"com.example.other","environment":"Production""#)
        { $0.data = NotificationDataFields().json }
        let item = try Minted.verifier().items(body).first
        #expect(item?.bundleID?.text == Minted.bundleID)
        #expect(item?.notification?.fields.newBody == nil)
    }

    @Test func `a notification that names no app affects no other of its page`() throws {
        let page = Body.notificationHistory([
            try Minted.notification(transaction: Minted.transaction()),
            try Self.notification("UNCLAIM_SEATS", "unclaimInfo", Self.seats), try Self.unknown(),
            try Minted.notification(),
        ])
        let verifier = try Minted.verifier()
        let types = try verifier.items(page).map { $0.observedNotification?.type }
        #expect(types == ["SUBSCRIBED", "TEST"])
        #expect(verifier.unknownKinds == 2)
        #expect(try Self.ignored(Body.notificationHistory([Self.unknown()])) == "unknown_kind")
    }

    @Test func `an item of an unknown kind affects no other item of its response`() throws {
        let verifier = try Minted.verifier()
        let purchase = try Minted.transaction()
        let own = try Self.unknown(#""owner":{\#(Self.app)}"#)
        let history = Body.history([try Self.unknown(), purchase, own])
        #expect(try verifier.items(history).count == 1)
        let statuses = Body.subscriptionStatuses(
            environment: "Production", bundleID: Minted.bundleID, originalTransactionID: "2000000000000001",
            transaction: purchase, renewal: try Self.unknown())
        let item = try #require(try verifier.items(statuses).first)
        #expect(item.transaction != nil && item.renewalInfo == nil)
        for body in [
            Body.history([own]), Body.transactionInfo(own), Body.renewalInfo(own), Body.appTransactionInfo(own),
        ] { #expect(try Self.ignored(body) == "unknown_kind") }
        let foreign = try Self.unknown(#""owner":{"bundleId":"com.example.other"}"#)
        #expect(verifier.reason(Body.history([purchase, foreign])) == .bundleMismatch)
    }

    @Test func `an unknown kind is left out of a paged notification, and refused in a single one`() throws {
        let verifier = try Minted.verifier()
        let body = try Minted.notification(transaction: Self.unknown())
        #expect(verifier.reason(Body.notification(body)) == .payloadMalformed)
        let items = try verifier.items(Body.notificationHistory([body]))
        #expect(items.count == 1 && items[0].transaction == nil)
        #expect(items.first?.observedNotification?.type == "SUBSCRIBED")
    }

    @Test func `an unknown kind by itself becomes a dead letter`() throws {
        let verifier = try Minted.verifier()
        let jws = try Self.unknown()
        for body in [jws, Body.notification(jws), Body.transaction(jws)] {
            let refusal = try verifier.refusal(body)
            #expect(refusal.reason == .payloadMalformed)
            #expect(refusal.detail == "the payload is of no known kind")
        }
    }

    @Test func `the purchases inside a notification that names no app are forwarded`() throws {
        let transaction = String(decoding: try Minted.transaction(), as: UTF8.self)
        let members = #""signedTransactionInfo":"\#(transaction)""#
        let item = try #require(try Minted.verifier().items(Self.notification("NEWS", "data", members)).first)
        #expect(item.transaction != nil && item.notification == nil)
        let forged = members.replacing(":\"e", with: ":\"f")
        let body = try Self.notification("NEWS", "data", forged)
        #expect(try Minted.verifier().reason(body) == .jwsMalformed)
    }

    @Test func `a purchase in a body of another name is a purchase`() throws {
        let transaction = String(decoding: try Minted.transaction(), as: UTF8.self)
        let members = Self.app + #","signedTransactionInfo":"\#(transaction)""#
        let body = try Self.notification("NEWS", "pledgeInfo", members)
        let item = try #require(try Minted.verifier().items(body).first)
        #expect(item.transaction != nil && item.observedNotification?.type == "NEWS")
    }

    @Test(arguments: ["data", "appData"], ["[]", "7", #""eyJ""#, "true"])
    func `a body that cannot be read may hold a purchase`(name: String, value: String) throws {
        var fields = NotificationFields()
        fields.overrides[name] = value
        let refusal = try Minted.verifier().refusal(Minted.sign(fields.json))
        #expect(refusal.reason == .payloadMalformed)
    }
}
