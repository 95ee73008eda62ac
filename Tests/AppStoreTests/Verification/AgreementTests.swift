import AppStore
import Testing
import Simulation

/// Items of one body that disagree, and unsigned fields that differ from the signed ones.
struct AgreementTests {
    @Test func `transaction and renewal info are of one purchase`() throws {
        let verifier = try Minted.verifier()
        let transaction = try Minted.transaction()
        for (renewal, reason) in [
            (try Minted.renewal(), nil),
            (try Minted.renewal { $0.originalTransactionID = "7" }, RefusalReason.itemMismatch),
            (try Minted.renewal { $0.environment = "Sandbox" }, .itemMismatch),
        ] {
            let body = try Minted.notification(transaction: transaction, renewal: renewal)
            #expect(verifier.reason(body) == reason)
            let pair = Body.subscriptionStatuses(
                environment: "Production", bundleID: Minted.bundleID, originalTransactionID: "2000000000000001",
                transaction: transaction, renewal: renewal)
            #expect(verifier.reason(pair) == reason)
        }
    }

    @Test func `the items of a notification have its app and environment`() throws {
        let authority = try Minted.authority.get()
        let apps = try Minted.standardApps() + [Minted.app(bundleID: "com.example.other", trusting: [authority])]
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        let other = try Minted.transaction { $0.bundleID = "com.example.other" }
        #expect(verifier.reason(other) == nil)
        #expect(verifier.reason(try Minted.notification(transaction: other)) == .itemMismatch)
        let sandbox = try Minted.transaction { $0.environment = "Sandbox" }
        #expect(verifier.reason(sandbox) == nil)
        #expect(verifier.reason(try Minted.notification(transaction: sandbox)) == .itemMismatch)
    }

    @Test(arguments: [
        ("transactionID", #""2000000000000001""#, true), ("transactionID", #""2000000000000002""#, false),
        ("transactionID", "2000000000000001", false), ("transactionID", "null", true),
        ("transactionID", #""2000\u003000000000001""#, true), ("originalTransactionID", #""2000000000000001""#, true),
        ("originalTransactionID", "[]", false), ("productID", #""com.example.pro.monthly""#, true),
        ("productID", #""com.example.pro.monthlY""#, false), ("offerID", #""spring""#, false),
        ("offerID", "null", true), ("bundleId", #""com.example.other""#, false), ("environment", #""Sandbox""#, false),
        ("environment", #""Production""#, true), ("userID", "17", true), ("unknown", "true", true),
    ]) func `claims beside a signed transaction`(name: String, value: String, isAccepted: Bool) throws {
        let token = String(decoding: try Minted.transaction(), as: UTF8.self)
        let body = #"{"\#(name)":\#(value),"signedTransaction":"\#(token)"}"#
        #expect(try Minted.verifier().reason(body) == (isAccepted ? nil : .claimMismatch))
    }

    @Test(arguments: ["transactionID", "originalTransactionID", "productID", "offerID"])
    func `a claim is 1 to 255 bytes without control characters`(name: String) throws {
        let long = String(repeating: "x", count: 255)
        let wide = String(repeating: "\u{E9}", count: 127)
        for (claim, reason) in [
            ("", RefusalReason.envelopeMalformed), (long + "x", .envelopeMalformed), (wide + "xx", .envelopeMalformed),
            ("a\\u0000b", .envelopeMalformed), ("a\\u001b[2Jb", .envelopeMalformed), ("a\u{7F}", .envelopeMalformed),
            ("\u{85}", .envelopeMalformed), ("a\\nb", .envelopeMalformed), (long, .claimMismatch),
            (wide + "x", .claimMismatch), ("\u{A0}", .claimMismatch),
        ] {
            let claims: KeyValuePairs = [name: "\"\(claim)\""]
            let posted = Body.transaction(try Minted.transaction(), claims: claims)
            #expect(try Minted.verifier().reason(posted) == reason, "\(claim)")
        }
        // It is said before anything of the transaction is verified.
        let forged = Body.transaction(Array("e30.e30.e30".utf8), claims: [name: #""""#])
        #expect(try Minted.verifier().reason(forged) == .envelopeMalformed)
    }

    /// é as one scalar and as two is one character to Swift, and two texts here.
    @Test func `claims are compared as bytes`() throws {
        let transaction = try Minted.transaction { $0.productID = "caf\u{E9}" }
        for (value, reason) in [("\u{E9}", nil), ("e\u{301}", RefusalReason.claimMismatch)] {
            let body = Body.transaction(transaction, claims: ["productID": "\"caf\(value)\""])
            #expect(try Minted.verifier().reason(body) == reason)
        }
    }

    @Test func `the unsigned fields of an API response are claims`() throws {
        let verifier = try Minted.verifier()
        let tokens = [try Minted.transaction()]
        let good: KeyValuePairs = [
            "bundleId": #""com.example.pro""#, "environment": #""Production""#, "appAppleId": "1234567890",
            "hasMore": "true", "revision": #""x""#,
        ]
        #expect(verifier.reason(Body.history(tokens, members: good)) == nil)
        for (name, value) in [
            ("bundleId", #""com.example.other""#), ("environment", #""Sandbox""#), ("bundleId", #""""#),
            ("environment", "1"),
        ] {
            let body = Body.history(tokens, members: [name: value])
            #expect(verifier.reason(body) == .claimMismatch)
        }
        let statuses = Body.subscriptionStatuses(
            environment: "Production", bundleID: Minted.bundleID, originalTransactionID: "7",
            transaction: try Minted.transaction(), renewal: try Minted.renewal())
        #expect(verifier.reason(statuses) == .claimMismatch)
    }

    @Test func `an empty claim contradicts an empty signed field`() throws {
        let verifier = try Minted.verifier()
        let tokens = [try Minted.transaction { $0.offerIdentifier = "" }]
        #expect(verifier.reason(Body.history(tokens, members: ["revision": #""x""#])) == nil)
        let body = Body.history(tokens, members: ["offerIdentifier": #""""#])
        #expect(verifier.reason(body) == .claimMismatch)
    }

    @Test func `an app's number beside an app transaction or a notification is compared`() throws {
        let verifier = try Minted.verifier()
        let app = String(decoding: try Minted.appTransaction(), as: UTF8.self)
        let notification = String(decoding: try Minted.notification(), as: UTF8.self)
        for (name, token) in [("signedAppTransactionInfo", app), ("signedPayload", notification)] {
            for (value, reason) in [
                ("1234567890", nil), ("1234567890.0", RefusalReason.claimMismatch), (#""1234567890""#, .claimMismatch),
                ("7", .claimMismatch),
            ] {
                let body = #"{"\#(name)":"\#(token)","appAppleId":\#(value)}"#
                #expect(verifier.reason(body) == reason)
            }
        }
    }
}
