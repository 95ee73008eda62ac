import AppStore
import OpenSSL
import Testing
import Simulation

/// Reasons, their order, and the facts of a refusal for an auditor.
struct RefusalTests {
    /// Reasons of other stages, of receipts, and of revocation.
    static let elsewhere: Set<RefusalReason> = [
        .certificateRevoked, .receiptSignatureInvalid, .transactionConflict, .observationMalformed, .notStorable,
    ]

    static func body(_ reason: RefusalReason) throws -> [UInt8]? {
        let authority = try Minted.authority.get()
        let payload = TransactionFields().json
        let token = try authority.sign(payload)
        switch reason {
        case .payloadTooLarge: return [UInt8](repeating: 0x20, count: (1 << 20) + 1)
        case .bodyUnrecognized: return Array("hello".utf8)
        case .envelopeMalformed: return Array("{".utf8)
        case .jwsMalformed: return try authority.forge(payload, .fourSegments)
        case .algorithmNotAllowed: return try authority.forge(payload, .algorithmNone)
        case .x5cMissing: return try authority.forge(payload, .withoutCertificates)
        case .x5cLength:
            let header = CertificateAuthority.headerSegment(certificates: [authority.leaf])
            return try authority.sign(payload, headerSegment: header)
        case .certificateMalformed:
            let header = CertificateAuthority.headerSegment(certificates: [[1], [2], [3]])
            return try authority.sign(payload, headerSegment: header)
        case .rootUntrusted: return try CertificateAuthority(name: "Foreign").sign(payload)
        case .chainInvalid: return try CertificateAuthority(name: "Trusted").sign(payload)
        case .signatureInvalid: return try authority.forge(payload, .foreignKey)
        case .payloadMalformed: return try authority.sign(Array("[]".utf8))
        case .bundleMismatch: return try Minted.transaction { $0.bundleID = "com.example.x" }
        case .appMismatch: return try Minted.appTransaction { $0.appAppleID = 1 }
        case .environmentMismatch: return try Minted.transaction { $0.environment = "Xcode" }
        case .itemMismatch:
            let renewal = try Minted.renewal { $0.originalTransactionID = "7" }
            return try Minted.notification(transaction: token, renewal: renewal)
        case .claimMismatch: return Body.transaction(token, claims: ["transactionID": #""7""#])
        case .receiptMalformed: return Array("MIIT".utf8)
        case .receiptUnsupported:
            let text = Array("{\n\"purchase-info\" = \"AAAA\";\n}".utf8)
            return Body.receipt(Base64Text.standard(text))
        case .certificateNotValidAtSigning: return try Minted.transaction { $0.signedDate = 1 }
        default: return nil
        }
    }

    @Test(arguments: RefusalReason.allCases.filter { !elsewhere.contains($0) }) func `every reason is reached`(
        reason: RefusalReason
    ) throws {
        if reason == .certificatePurpose {
            let authority = try CertificateAuthority { $0.leaf.isCA = true }
            let verifier = try Minted.verifier(trusting: authority)
            #expect(verifier.reason(try authority.sign(TransactionFields().json)) == reason)
            return
        }
        #expect(try Minted.verifier().reason(Self.body(reason)) == reason)
    }

    /// Each step of the list mends one more defect.
    @Test func `the first rule broken, in their order, is the reason`() throws {
        let steps = BrokenBody.steps.indices
        for first in steps {
            let broken = BrokenBody(breaking: Set(first..<steps.upperBound))
            #expect(try broken.verdict() == BrokenBody.steps[first].reason, "from \(first) on")
        }
        #expect(try BrokenBody(breaking: []).verdict() == nil)
    }

    @Test(arguments: BrokenBody.steps.indices) func `of any two rules broken at once the earlier is the reason`(
        first: Int
    ) throws {
        for second in first..<BrokenBody.steps.count {
            let broken = BrokenBody(breaking: [first, second])
            #expect(try broken.verdict() == BrokenBody.steps[first].reason, "\(first), \(second)")
        }
    }

    /// A header is public: a forger can copy it and write any date into the payload.
    @Test(arguments: [false, true]) func `an unsigned payload is forged, whatever it states`(isWarm: Bool) throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        if isWarm { _ = try verifier.items(Minted.transaction()) }
        var old = TransactionFields()
        old.signedDate = 1
        for payload in [old.json, Array("[]".utf8), Array("{".utf8), [0xFF]] {
            let refusal = try verifier.refusal(authority.forge(payload, .flippedSignature))
            #expect(refusal.reason == .signatureInvalid)
            #expect(refusal.reason.deadLetterClass == .forged)
        }
        let refusal = try verifier.refusal(authority.forge(old.json, .foreignKey))
        #expect(refusal.unverified.transactionID == "2000000000000001")
        #expect(refusal.unverified.signedDate?.milliseconds == 1)
    }

    @Test func `too many items are reported before an unknown shape`() throws {
        let many = Array(repeating: "\"a.b.c\"", count: 501).joined(separator: ",")
        let verifier = try Minted.verifier()
        #expect(verifier.reason(#"{"signedTransactions":[\#(many)]}"#) == .payloadTooLarge)
        let two = #"{"signedTransactions":[\#(many)],"signedPayload":"a.b.c"}"#
        #expect(verifier.reason(two) == .payloadTooLarge)
        #expect(verifier.reason(#"{"signedTransactions":[\#(many)],}"#) == .envelopeMalformed)
        let group = #"{"lastTransactions":[\#(many)]}"#
        #expect(verifier.reason(#"{"data":[\#(group)]}"#) == .payloadTooLarge)
        #expect(verifier.reason(#"{"notificationHistory":[\#(many)]}"#) == .payloadTooLarge)
    }

    @Test func `the outer JWS is checked before the inner, and items before claims`() throws {
        let verifier = try Minted.verifier()
        let inner = try Minted.transaction { $0.bundleID = "com.example.x" }
        let outer = try Minted.notification(transaction: inner) { $0.environment = "Xcode" }
        #expect(verifier.reason(outer) == .environmentMismatch)
        #expect(verifier.reason(try Minted.notification(transaction: inner)) == .bundleMismatch)
        let mixed = Body.subscriptionStatuses(
            environment: "Sandbox", bundleID: "", originalTransactionID: "", transaction: try Minted.transaction(),
            renewal: try Minted.renewal { $0.originalTransactionID = "7" })
        #expect(verifier.reason(mixed) == .itemMismatch)
    }

    @Test func `one bad item refuses the whole body`() throws {
        let verifier = try Minted.verifier()
        let good = try Minted.transaction()
        let bad = try Minted.authority.get().forge(TransactionFields().json, .flippedSignature)
        for place in 0..<3 {
            var tokens = [good, good]
            tokens.insert(bad, at: place)
            #expect(verifier.reason(Body.history(tokens)) == .signatureInvalid)
        }
    }

    @Test func `a refusal names the certificates and the body's unverified identifiers`() throws {
        let verifier = try Minted.verifier()
        let foreign = try CertificateAuthority(name: "Foreign")
        let refusal = try verifier.refusal(foreign.sign(TransactionFields().json))
        let expected = foreign.chain.map(SHA256.digest)
        #expect(refusal.chain.map(\.fingerprint) == expected)
        #expect(refusal.chain.allSatisfy { $0.validity == CertificateAuthority.standardValidity })
        let unverified = refusal.unverified
        #expect(unverified.transactionID == "2000000000000001")
        #expect(unverified.originalTransactionID == "2000000000000001")
        #expect(unverified.bundleID == Minted.bundleID)
        #expect(unverified.environment == "Production")
        #expect(unverified.productID == "com.example.pro.monthly")
        #expect(unverified.signedDate?.milliseconds == 1_767_225_601_000)
    }

    @Test func `a refused notification names the purchase inside, warm or cold`() throws {
        let transaction = try Minted.transaction()
        let payload = Minted.notificationPayload(transaction: transaction)
        let forged = try Minted.authority.get().forge(payload, .flippedSignature)
        let verifier = try Minted.verifier()
        let cold = try verifier.refusal(forged)
        #expect(cold.chain.count == 3 && cold.unverified.productID == "com.example.pro.monthly")
        _ = try verifier.items(transaction)
        let warm = try verifier.refusal(forged)
        #expect(warm.chain == cold.chain && warm.unverified == cold.unverified)
    }

    @Test func `a detail is short and holds nothing of the body`() throws {
        let secret = "s3cr3t-"
        let body = try Minted.transaction {
            $0.bundleID = secret
            $0.appAccountToken = secret
        }
        let verifier = try Minted.verifier()
        for reason in RefusalReason.allCases {
            guard let body = try Self.body(reason) else { continue }
            let refusal = try verifier.refusal(body)
            #expect((1...200).contains(refusal.detail.utf8.count))
        }
        #expect(try !verifier.refusal(body).detail.contains(secret))
    }

    @Test func `a payload without a bundle ID is found by its detail`() throws {
        let verifier = try Minted.verifier()
        for body in [
            try Minted.transaction { $0.bundleID = nil }, try Minted.transaction { $0.overrides["bundleId"] = "null" },
        ] {
            let refusal = try verifier.refusal(body)
            #expect(refusal.reason == .bundleMismatch && refusal.detail == "absent")
        }
        let typed = try Minted.transaction { $0.overrides["bundleId"] = "7" }
        #expect(verifier.reason(typed) == .payloadMalformed)
        let empty = try Minted.transaction { $0.bundleID = "" }
        #expect(verifier.reason(empty) == .payloadMalformed)
    }

    @Test(arguments: ["transactionId", "originalTransactionId", "environment", "productId", "purchaseDate"])
    func `a transaction needs its fields, each of its type`(name: String) throws {
        let verifier = try Minted.verifier()
        let text = #""\#(String(repeating: "x", count: 256))""#
        for value in ["null", "{}", #""""#, text, "true"] {
            let body = try Minted.transaction { $0.overrides[name] = value }
            #expect(verifier.reason(body) == .payloadMalformed, "\(value)")
        }
    }

    @Test(arguments: ["null", "{}", #""""#, "7"]) func `a renewal info needs its purchase, and a notification its type`(
        value: String
    ) throws {
        let verifier = try Minted.verifier()
        let renewal = try Minted.renewal { $0.overrides["originalTransactionId"] = value }
        #expect(verifier.reason(renewal) == .payloadMalformed)
        var fields = NotificationFields()
        fields.data = NotificationDataFields().json
        #expect(verifier.reason(try Minted.sign(fields.json)) == nil)
        fields.overrides["notificationType"] = value
        #expect(verifier.reason(try Minted.sign(fields.json)) == .payloadMalformed)
    }

    @Test(arguments: ["[]", "7", "null", #""{}""#]) func `a payload that is not an object is refused with a detail`(
        json: String
    ) throws {
        let refusal = try Minted.verifier().refusal(Minted.sign(Array(json.utf8)))
        #expect(refusal.reason == .payloadMalformed)
        #expect(refusal.detail == "the payload is not a JSON object")
    }

    @Test func `the app's number counts in Production only`() throws {
        let verifier = try Minted.verifier()
        for (environment, number, reason) in [
            ("Production", Minted.appAppleID, nil), ("Production", 1, RefusalReason.appMismatch),
            ("Production", nil, .appMismatch), ("Sandbox", 1, nil), ("Sandbox", nil, nil),
        ] as [(String, Int64?, RefusalReason?)] {
            let app = try Minted.appTransaction {
                $0.receiptType = environment
                $0.appAppleID = number
            }
            #expect(verifier.reason(app) == reason)
            let notification = try Minted.notification {
                $0.environment = environment
                $0.appAppleID = number
            }
            #expect(verifier.reason(notification) == reason)
        }
    }
}
