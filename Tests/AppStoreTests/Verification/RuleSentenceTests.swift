import AppStore
import OpenSSL
import Testing
import Simulation

/// Further sentences of VERIFICATION.md, each tested literally.
struct RuleSentenceTests {
    @Test(arguments: [
        "", #""alg":null,"#, #""alg":["ES256"],"#, #""alg":256,"#, #""alg":"es256","#, #""alg":"ES256 ","#,
        #""alg":"ES256K","#, #""alg":"ES384","#, #""alg":"RS256","#, #""alg":"","#, #""Alg":"ES256","#,
    ]) func `alg is the string ES256 and nothing else`(member: String) throws {
        let authority = try Minted.authority.get()
        let chain = authority.chain.map { "\"" + String(decoding: Base64Text.standard($0), as: UTF8.self) + "\"" }
        let header = #"{\#(member)"x5c":[\#(chain.joined(separator: ","))]}"#
        let token = try authority.sign(TransactionFields().json, headerSegment: Base64Text.url(Array(header.utf8)))
        #expect(try Minted.verifier().reason(token) == .algorithmNotAllowed)
    }

    @Test(arguments: [
        #"{"a":"\u0000"}"#, #"{"a":"\ud800"}"#, "\u{FEFF}{}", "{}{}", "[]", "7",
        String(repeating: #"{"a":"#, count: 100) + "7" + String(repeating: "}", count: 100),
    ]) func `header and payload are read as strictly as the envelope`(json: String) throws {
        let authority = try Minted.authority.get()
        let verifier = try Minted.verifier()
        let segment = Base64Text.url(Array(json.utf8))
        let payload = TransactionFields().json
        #expect(verifier.reason(try authority.sign(payload, headerSegment: segment)) == .jwsMalformed)
        #expect(verifier.reason(try Minted.sign(Array(json.utf8))) == .payloadMalformed)
        // UTF-16 is no JSON here, with a mark and without.
        let wide = Array(json.utf16).flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        #expect(verifier.reason(try Minted.sign(wide)) == .payloadMalformed)
    }

    /// The rest of the payload is in order, so the one member decides.
    @Test(arguments: [#""a\u0000""#, #""\ud800""#, #"{"a":1,"\u0061":2}"#])
    func `one member that the strict reader refuses refuses the payload`(value: String) throws {
        let verifier = try Minted.verifier()
        #expect(verifier.reason(try Minted.transaction { $0.overrides["later"] = "1" }) == nil)
        let body = try Minted.transaction { $0.overrides["later"] = value }
        #expect(verifier.reason(body) == .payloadMalformed)
    }

    @Test(arguments: [" %", "% ", "%\\n", "\\t%", "%\\u0020"]) func `a token inside JSON has no whitespace around it`(
        form: String
    ) throws {
        let token = String(decoding: try Minted.transaction(), as: UTF8.self)
        let text = form.replacing("%", with: token)
        for body in [#"{"signedTransaction":"\#(text)"}"#, #"{"signedTransactions":["\#(text)"]}"#] {
            #expect(try Minted.verifier().reason(body) == .jwsMalformed)
        }
    }

    @Test func `names compare as OpenSSL compares them`() throws {
        for isCopied in [true, false] {
            let authority = try CertificateAuthority { blueprint in
                let names = [blueprint.leaf.issuer, blueprint.intermediate.issuer].map { name in
                    // Letter case and the number of blanks are no difference (RFC 5280 §7.1).
                    isCopied ? " " + name.uppercased().replacing(" ", with: "  ") : name + "."
                }
                blueprint.leaf.issuer = names[0]
                blueprint.intermediate.issuer = names[1]
            }
            let verifier = try Minted.verifier(trusting: authority)
            let reason = verifier.reason(try authority.sign(TransactionFields().json))
            #expect(reason == (isCopied ? nil : .rootUntrusted))
        }
    }

    @Test(arguments: ["", "Somebody", "Trusted Root CA - G3"]) func `the leaf's own subject decides nothing`(
        subject: String
    ) throws {
        let authority = try CertificateAuthority { $0.leaf.subject = subject }
        let verifier = try Minted.verifier(trusting: authority)
        #expect(verifier.reason(try authority.sign(TransactionFields().json)) == nil)
    }

    @Test(
        arguments: [
            ("1.3.6.1.4.1.32473.9", [0x05, 0x00]), ("2.5.29.30", [0x30, 0x00]),
            ("2.5.29.36", [0x30, 0x03, 0x80, 0x01, 0x00]),
        ] as [(String, [UInt8])]) func `an unenforced critical extension is refused on each certificate of the chain`(
            oid: String, value: [UInt8]
        ) throws
    {
        let places: [WritableKeyPath<AuthorityBlueprint, CertificateBuilder>] = [\.leaf, \.intermediate, \.root]
        for place in places {
            for isCritical in [true, false] {
                let authority = try CertificateAuthority {
                    $0[keyPath: place].extensions.append(.init(oid: oid, isCritical: isCritical, value: value))
                }
                let verifier = try Minted.verifier(trusting: authority)
                let reason = verifier.reason(try authority.sign(TransactionFields().json))
                #expect(reason == (isCritical ? .chainInvalid : nil))
            }
        }
    }

    @Test func `the third of three dots is named`() throws {
        let refusal = try Minted.verifier().refusal(try Minted.transaction() + Array(".AA".utf8))
        #expect(refusal.reason == .jwsMalformed && refusal.detail.contains("more"))
        let short = try Minted.verifier().refusal(Array("eyJhbGciOiJFUzI1NiJ9.e30".utf8))
        #expect(short.reason == .jwsMalformed && short.detail.contains("fewer"))
    }

    @Test func `Xcode's chain has one or three certificates`() throws {
        let local = try CertificateAuthority.xcode()
        let app = try Minted.app(.xcode, trusting: [local])
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        var fields = TransactionFields()
        fields.environment = "Xcode"
        for count in [0, 1, 2, 4] {
            let header = CertificateAuthority.headerSegment(certificates: Array(repeating: local.leaf, count: count))
            let token = try local.sign(fields.json, headerSegment: header)
            #expect(verifier.reason(token) == (count == 1 ? nil : .x5cLength), "\(count)")
        }
    }
}
