import AppStore
import Entitlements
import JSON
import Kafka
import OpenSSL
import Records
import Testing
import Simulation

/// Sentences of VERIFICATION.md that no other suite takes at their word.
struct RuleDetailTests {
    @Test func `whitespace around a bare receipt is ignored`() throws {
        let text = try MintedReceipts.text()
        let spaced = Array(" \t\r\n".utf8) + text + Array("\n ".utf8)
        #expect(try MintedReceipts.verifier().reason(spaced) == nil)
    }

    @Test(arguments: [(63, nil), (64, RefusalReason.envelopeMalformed)]) func `JSON is at most 64 levels deep`(
        arrays: Int, reason: RefusalReason?
    ) throws {
        // The object around the arrays is a level too.
        let deep = String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays)
        let token = String(decoding: try Minted.transaction(), as: UTF8.self)
        let body = #"{"added":\#(deep),"signedTransaction":"\#(token)"}"#
        #expect(try Minted.verifier().reason(body) == reason)
    }

    /// The object around the arrays is a level too.
    @Test(arguments: [("[", "]", 47), (#"{"a":"#, "}", 47)])
    func `a payload is at most 48 levels deep, and then every later stage reads it`(
        opening: String, closing: String, levels: Int
    ) throws {
        let verifier = try Minted.verifier()
        func body(_ levels: Int) throws -> [UInt8] {
            let deep = String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
            return try Minted.transaction { $0.overrides["addedLater"] = deep }
        }
        let item = try #require(try verifier.items(body(levels)).first)
        let received = try Self.received(item)
        #expect(received.payloads[.transaction] == item.transaction?.json.rawBytes)
        #expect(verifier.reason(try body(levels + 1)) == .payloadMalformed)
    }

    @Test func `a payload of as many values as are allowed is read by every later stage`() throws {
        let verifier = try Minted.verifier()
        func transaction(_ count: Int) throws -> [UInt8] {
            let many = "[" + Array(repeating: "0", count: count).joined(separator: ",") + "]"
            return try Minted.transaction { $0.overrides["addedLater"] = many }
        }
        let many = "[" + Array(repeating: "0", count: 39_000).joined(separator: ",") + "]"
        let notification = try Minted.notification(
            transaction: try transaction(39_000), renewal: try Minted.renewal { $0.overrides["addedLater"] = many })
        let item = try #require(try verifier.items(notification).first)
        let received = try Self.received(item)
        #expect(received.payloads[.renewalInfo] == item.renewalInfo?.json.rawBytes)
        #expect(verifier.reason(try transaction(40_000)) == .payloadMalformed)
    }

    private static func received(_ item: VerifiedItem) throws -> Observation {
        let sent = try Observation(
            item, source: ObservationSource(RecordPosition(topic: "raw", partition: 0, offset: 0)))
        let record = sent.record(for: "verified")
        return try Observation(value: record.value)
    }

    @Test func `unknown fields, any key order and whitespace are accepted`() throws {
        let token = String(decoding: try Minted.transaction(), as: UTF8.self)
        let body = """
             {\t"later" : null ,\r\n "userID":"anna", "signedTransaction"
              : "\(token)" , "more":{"a":[1]} }\u{20}
            """
        #expect(try Minted.verifier().reason(body) == nil)
    }

    @Test(arguments: [
        #""crit":null"#, #""crit":[]"#, #""crit":["exp"]"#, #""b64":true"#, #""b64":false"#, #""b64":null"#,
    ]) func `any crit and any b64 member refuses the header`(member: String) throws {
        let authority = try Minted.authority.get()
        let header = CertificateAuthority.headerSegment(certificates: authority.chain, trailing: "," + member)
        let token = try authority.sign(TransactionFields().json, headerSegment: header)
        #expect(try Minted.verifier().reason(token) == .jwsMalformed)
    }

    @Test func `x5c is an array of exactly three strings`() throws {
        let authority = try Minted.authority.get()
        let entry = String(decoding: Base64Text.standard(authority.leaf), as: UTF8.self)
        let broken = "\(entry.prefix(64))\\n\(entry.dropFirst(64))"
        for (chain, reason) in [
            ("null", RefusalReason.x5cMissing), ("{}", .x5cMissing), (#""\#(entry)""#, .x5cMissing), ("[]", .x5cLength),
            (#"["\#(entry)","\#(entry)"]"#, .x5cLength), (#"["\#(entry)",7,null]"#, .certificateMalformed),
            (#"["\#(broken)","\#(entry)","\#(entry)"]"#, .certificateMalformed),
            (#"[" \#(entry)","\#(entry)","\#(entry)"]"#, .certificateMalformed),
        ] {
            let header = Base64Text.url(Array(#"{"alg":"ES256","x5c":\#(chain)}"#.utf8))
            let token = try authority.sign(TransactionFields().json, headerSegment: header)
            #expect(try Minted.verifier().reason(token) == reason, "\(chain.prefix(20))")
        }
    }

    @Test func `all three certificates parse, also under a configured root`() throws {
        let authority = try Minted.authority.get()
        for (third, reason) in [
            (Array("abc123".utf8), RefusalReason.certificateMalformed), (authority.root + [0], .certificateMalformed),
            (authority.leaf, nil),
        ] as [([UInt8], RefusalReason?)] {
            let header = CertificateAuthority.headerSegment(certificates: [
                authority.leaf, authority.intermediate, third,
            ])
            let token = try authority.sign(TransactionFields().json, headerSegment: header)
            #expect(try Minted.verifier().reason(token) == reason)
        }
    }

    @Test func `the leaf has its marker once, the intermediate has it at all`() throws {
        for (part, reason) in [(\AuthorityBlueprint.leaf, RefusalReason.certificatePurpose), (\.intermediate, nil)]
            as [(WritableKeyPath<AuthorityBlueprint, CertificateBuilder>, RefusalReason?)]
        {
            let authority = try CertificateAuthority { blueprint in
                let marker = blueprint[keyPath: part].extensions[0]
                blueprint[keyPath: part].extensions.append(marker)
            }
            let verifier = try Minted.verifier(trusting: authority)
            #expect(verifier.reason(try authority.sign(TransactionFields().json)) == reason)
        }
    }

    @Test func `a notification without a transaction is history, whatever its type`() throws {
        let types = ["SUBSCRIBED", "REFUND", "DID_RENEW", "CONSUMPTION_REQUEST", "NEVER_SEEN"]
        for type in types {
            var fields = NotificationFields()
            fields.notificationType = type
            fields.data = NotificationDataFields().json
            let items = try Minted.verifier().items(Minted.sign(fields.json))
            #expect(items.count == 1 && items[0].transaction == nil)
            #expect(items[0].observedNotification?.type == type)
        }
    }

    @Test func `alg none is refused everywhere, Xcode's included`() throws {
        let local = try CertificateAuthority.xcode()
        let verifier = Verifier(
            configuration: VerifierConfiguration(apps: [
                try Minted.app(.xcode, trusting: [local]), try Minted.app(.localTesting, trusting: [local]),
                try Minted.app(trusting: [Minted.authority.get()]),
            ]))
        let authority = try Minted.authority.get()
        for (certificates, key) in [([local.leaf], local), (authority.chain, authority)] {
            for environment in ["Xcode", "LocalTesting", "Production"] {
                var fields = TransactionFields()
                fields.environment = environment
                let header = CertificateAuthority.headerSegment(algorithm: "none", certificates: certificates)
                let token = try key.sign(fields.json, headerSegment: header)
                #expect(verifier.reason(token) == .algorithmNotAllowed)
                let bare = Array(token[...(token.lastIndex(of: UInt8(ascii: ".")) ?? 0)])
                #expect(verifier.reason(bare) == .jwsMalformed)
            }
        }
    }

    @Test func `Xcode and LocalTesting are verified against their own certificate`() throws {
        let local = try CertificateAuthority.xcode()
        for environment in [Environment.xcode, .localTesting] {
            let app = try Minted.app(environment, trusting: [local])
            let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
            var fields = TransactionFields()
            fields.environment = environment.rawValue
            fields.overrides = ["purchaseDate": "1767225600000.75"]
            let item = try #require(try verifier.items(local.sign(fields.json)).first)
            #expect(item.environment == environment)
            #expect(item.transaction?.fields.purchaseDate?.milliseconds == 1_767_225_600_000)
            var forged = try local.sign(fields.json)
            forged[forged.count - 20] ^= 2
            #expect([.signatureInvalid, .jwsMalformed].contains(verifier.reason(forged)))
            let other = try CertificateAuthority.xcode()
            #expect(verifier.reason(try other.sign(fields.json)) == .rootUntrusted)
            fields.bundleID = "com.example.x"
            #expect(verifier.reason(try local.sign(fields.json)) == .bundleMismatch)
        }
    }

    @Test func `a single certificate without an entry for Xcode is refused`() throws {
        let local = try CertificateAuthority.xcode()
        var fields = TransactionFields()
        fields.environment = "Xcode"
        #expect(try Minted.verifier().reason(local.sign(fields.json)) == .x5cLength)
    }
}
