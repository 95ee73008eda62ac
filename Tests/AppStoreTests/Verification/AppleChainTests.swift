import AppStore
import OpenSSL
import TestSupport
import Testing
import Simulation

/// The chain verification cases of Apple's libraries (C1 to C15), each with our verdict.
///
/// The chains come without their leaf's key, so they are put into a JWS with a foreign signature: a
/// chain that passes ends as `signature_invalid`, which is the rule after it.
@Suite(.needsSharedData) struct AppleChainTests {
    static let effectiveDate: Int64 = 1_761_962_975

    static func mock(leaf: String = "LEAF_CERT", intermediate: String = "INTERMEDIATE_CA", root: String = "ROOT_CA")
        throws -> [[UInt8]]
    { [try AppleLibrary.constant(leaf), try AppleLibrary.constant(intermediate), try AppleLibrary.constant(root)] }

    static func mockVerifier() throws -> Verifier { try AppleLibrary.verifier(root: AppleLibrary.constant("ROOT_CA")) }

    static func appleVerifier() -> Verifier {
        let app = ConfiguredApp(bundleID: "com.example", environment: .sandbox)
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    static func reason(_ certificates: [[UInt8]], at seconds: Int64 = effectiveDate, _ verifier: Verifier? = nil) throws
        -> RefusalReason?
    {
        let body = AppleLibrary.unsigned(certificates, signedAt: seconds)
        return try (verifier ?? mockVerifier()).reason(body)
    }

    @Test func `C1 testValidChainWithoutOCSP`() throws {
        #expect(try Self.reason(Self.mock()) == .signatureInvalid)
        let refusal = try Self.mockVerifier().refusal(AppleLibrary.unsigned(Self.mock(), signedAt: Self.effectiveDate))
        #expect(refusal.chain.count == 3)
    }

    @Test func `C2 testValidChainInvalidIntermediateOIDWithoutOCSP`() throws {
        let chain = try Self.mock(
            leaf: "LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID", intermediate: "INTERMEDIATE_CA_INVALID_OID")
        #expect(try Self.reason(chain) == .certificatePurpose)
    }

    @Test func `C3 testValidChainInvalidLeafOIDWithoutOCSP`() throws {
        let chain = try Self.mock(leaf: "LEAF_CERT_INVALID_OID")
        #expect(try Self.reason(chain) == .certificatePurpose)
    }

    @Test func `C4 testInvalidChainLength`() throws {
        #expect(try Self.reason(Array(Self.mock().prefix(2))) == .x5cLength)
        #expect(try Self.reason(Array(Self.mock().prefix(1))) == .x5cLength)
        #expect(try Self.reason([]) == .x5cLength)
    }

    @Test(arguments: ["…a", "abc", "YWJjMTIz\\n", " YWJjMTIz"]) func `C5 testMalformedBase64InCertificateList`(
        entry: String
    ) throws {
        let header = Array(#"{"alg":"ES256","x5c":["\#(entry)","abc","abc"]}"#.utf8)
        let body = AppleLibrary.unsigned(header: Base64Text.url(header), signedAt: Self.effectiveDate)
        #expect(try Self.mockVerifier().reason(body) == .certificateMalformed)
    }

    @Test func `C6 testMalformedCertificateList`() throws {
        let garbage = Array("abc123".utf8)
        #expect(try Self.reason([garbage, garbage, garbage]) == .certificateMalformed)
        for index in 0..<3 {
            var chain = try Self.mock()
            chain[index] = garbage
            #expect(try Self.reason(chain) == .certificateMalformed)
        }
    }

    @Test func `C7 testMalformedRootCerts: a malformed root makes no verifier`() throws {
        #expect(throws: CertificateError.self) { try Certificate(der: Array("abc".utf8)) }
        #expect(throws: CertificateError.self) { try Certificate.all(inFile: [0x30, 0x01]) }
    }

    @Test func `C8 testEmptyRootCertificateList: no custom root means Apple's pins`() throws {
        #expect(try Self.reason(Self.mock(), Self.appleVerifier()) == .rootUntrusted)
    }

    @Test func `C9 testValidChainExpired`() throws {
        let late: Int64 = 2_280_946_846
        for der in try Self.mock() {
            #expect(try !Certificate(der: der, acceptsOldVersions: true).validity.contains(late))
        }
        let verifier = try AppleLibrary.verifier()
        let payload = AppleLibrary.payload(signedAt: 250_000_000_000)
        #expect(verifier.reason(try AppleLibrary.signed(payload)) == .certificateNotValidAtSigning)
    }

    @Test func `C10 testChainDifferentThanRootCertificate`() throws {
        let verifier = try AppleLibrary.verifier(root: AppleLibrary.constant("REAL_APPLE_ROOT"))
        #expect(try Self.reason(Self.mock(), verifier) == .rootUntrusted)
        var chain = try Self.mock()
        chain[2] = try AppleLibrary.constant("REAL_APPLE_ROOT")
        #expect(try Self.reason(chain, verifier) == .chainInvalid)
        #expect(try Self.reason(chain, Self.appleVerifier()) == .chainInvalid)
    }

    /// No responder is asked about revocation here; the verified chain is remembered.
    @Test func `C11 testOcspResponseCaching: a chain is verified once`() throws {
        let verifier = try Minted.verifier()
        _ = try verifier.items(Minted.transaction())
        _ = try verifier.items(Minted.transaction { $0.transactionID = "2" })
        #expect(verifier.chainsCached == 1)
    }

    /// A good chain stays in the cache; its validity is compared with each record's own date.
    @Test func `C12 testOcspResponseCachingHasExpiration: dates are compared on every hit`() throws {
        let verifier = try Minted.verifier()
        _ = try verifier.items(Minted.transaction())
        let late = try Minted.transaction {
            $0.signedDate = (CertificateAuthority.standardValidity.upperBound + 1) * 1000
        }
        #expect(verifier.reason(late) == .certificateNotValidAtSigning)
        #expect(verifier.chainsCached == 1)
    }

    @Test func `C13 testOcspResponseCachingWithDifferentChains`() throws {
        let authorities = [try CertificateAuthority(name: "A"), try CertificateAuthority(name: "B")]
        let app = try Minted.app(trusting: authorities)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        for authority in authorities { _ = try verifier.items(authority.sign(TransactionFields().json)) }
        #expect(verifier.chainsCached == 2)
    }

    @Test func `C14 testOcspResponseCachingWithSlightlyDifferentChains`() throws {
        let authority = try Minted.authority.get()
        let other = try CertificateAuthority(name: "Other")
        let verifier = try Minted.verifier()
        let header = CertificateAuthority.headerSegment(certificates: [
            authority.leaf, authority.intermediate, other.root,
        ])
        _ = try verifier.items(authority.sign(TransactionFields().json))
        _ = try verifier.items(authority.sign(TransactionFields().json, headerSegment: header))
        #expect(verifier.chainsCached == 2)
    }

    @Test func `C15 testAppleChainIsValidWithOCSP: offline, against the pin`() throws {
        let chain = [
            try AppleLibrary.constant("REAL_APPLE_SIGNING_CERTIFICATE"),
            try AppleLibrary.constant("REAL_APPLE_INTERMEDIATE"), try AppleLibrary.constant("REAL_APPLE_ROOT"),
        ]
        #expect(try Self.reason(chain, Self.appleVerifier()) == .signatureInvalid)
        #expect(try !Certificate(der: chain[0]).validity.contains(1_850_000_000))
    }
}
