import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing
import Simulation

/// Data signed by Xcode's local testing (X1 to X4), each JWS under its one certificate.
@Suite(.needsSharedData) struct XcodeTests {
    static let bundleID = "com.example.naturelab.backyardbirds.example"

    static func file(_ name: String) throws -> [UInt8] { try AppleLibrary.file("xcode/xcode-\(name)") }

    /// The certificate that a file carries, as the developer would export it from Xcode.
    static func certificate(of token: [UInt8]) throws -> Certificate {
        let header = try #require(token.split(separator: UInt8(ascii: ".")).first)
        let text = String(decoding: header, as: UTF8.self)
        let json = try #require(Base64Decoding.url(text))
        let entry = try JSONDocument(parsing: json).root["x5c"]?.elements.first { _ in true }
        let der = try #require(entry?.string.flatMap(Base64Decoding.standard))
        return try Certificate(der: der)
    }

    static func verifier(_ environment: Environment = .xcode, roots: [Certificate]) -> Verifier {
        let app = ConfiguredApp(bundleID: Identifier(bundleID), environment: environment, roots: roots)
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    static func item(_ name: String) throws -> VerifiedItem {
        let token = try file(name)
        let verifier = try verifier(roots: [certificate(of: token)])
        return try #require(try verifier.items(token).first)
    }

    @Test func `X1 app transaction`() throws {
        let item = try Self.item("signed-app-transaction")
        let fields = try #require(item.appTransaction?.fields)
        #expect(item.bundleID?.text == Self.bundleID && item.environment == .xcode)
        #expect(fields.appAppleID == nil && fields.preorderDate == nil)
        #expect(fields.applicationVersion?.string == "1")
        #expect(fields.originalApplicationVersion?.string == "1")
        #expect(item.verification.method == .jwsXcode)
        #expect(item.verification.trust == .configured(item.verification.root))
        #expect(item.appTransaction?.json["deviceVerificationNonce"]?.string != nil)
    }

    @Test func `X2 transaction, with fractional dates rounded down`() throws {
        let item = try Self.item("signed-transaction")
        let fields = try #require(item.transaction?.fields)
        #expect(fields.transactionID?.string == "0" && fields.originalTransactionID?.string == "0")
        #expect(fields.productID?.string == "pass.premium" && fields.quantity == 1)
        #expect(fields.subscriptionGroupID?.string == "6F3A93AB")
        #expect(fields.purchaseDate?.milliseconds == 1_697_679_936_049)
        #expect(fields.expiresDate?.milliseconds == 1_700_358_336_049)
        #expect(fields.signedDate?.milliseconds == 1_697_679_936_056)
        #expect(fields.appAccountToken == nil)
        let written = item.transaction?.json["purchaseDate"].map { Array($0.rawBytes) }
        #expect(written == Array("1697679936049.7297".utf8))
    }

    @Test func `X3 renewal info`() throws {
        let item = try Self.item("signed-renewal-info")
        let fields = try #require(item.renewalInfo?.fields)
        #expect(item.bundleID == nil && fields.autoRenewStatus == 1)
        #expect(fields.signedDate?.milliseconds == 1_697_679_936_711)
        #expect(fields.renewalDate?.milliseconds == 1_700_358_336_049)
        #expect(fields.malformedFields == 0)
    }

    @Test func `X4 app transaction with a Production verifier`() throws {
        let token = try Self.file("signed-app-transaction")
        let app = ConfiguredApp(bundleID: Identifier(Self.bundleID), environment: .production, appAppleID: 1234)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        #expect(verifier.reason(token) == .x5cLength)
    }

    @Test func `another certificate vouches for nothing`() throws {
        let token = try Self.file("signed-transaction")
        let other = try Minted.root(CertificateAuthority.xcode())
        #expect(Self.verifier(roots: [other]).reason(token) == .rootUntrusted)
        let certificate = try Self.certificate(of: token)
        #expect(Self.verifier(.localTesting, roots: [certificate]).reason(token) == .environmentMismatch)
    }

    @Test func `a local certificate ends no chain, and a chain's root signs nothing by itself`() throws {
        let local = try CertificateAuthority.xcode()
        let authority = try Minted.authority.get()
        let apps = [try Minted.app(.xcode, trusting: [local]), try Minted.app(.production, trusting: [authority])]
        let verifier = Verifier(configuration: VerifierConfiguration(apps: apps))
        var fields = TransactionFields()
        fields.environment = "Xcode"
        #expect(verifier.reason(try local.sign(fields.json)) == nil)
        #expect(verifier.reason(try authority.sign(fields.json)) == .rootUntrusted)
        fields.environment = "Production"
        #expect(verifier.reason(try local.sign(fields.json)) == .rootUntrusted)
    }

    @Test func `its window has to hold the signed date`() throws {
        let local = try CertificateAuthority.xcode(validity: Minted.signedSeconds...Minted.signedSeconds + 10)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [try Minted.app(.xcode, trusting: [local])]))
        for (seconds, reason) in [
            (-1, RefusalReason.certificateNotValidAtSigning), (0, nil), (10, nil), (11, .certificateNotValidAtSigning),
        ] as [(Int64, RefusalReason?)] {
            var fields = TransactionFields()
            fields.environment = "Xcode"
            fields.signedDate = (Minted.signedSeconds + seconds) * 1000
            #expect(verifier.reason(try local.sign(fields.json)) == reason)
        }
    }

    @Test func `another certificate is refused before its signature is looked at`() throws {
        let (mine, other) = (try CertificateAuthority.xcode(), try CertificateAuthority.xcode())
        let app = ConfiguredApp(
            bundleID: Identifier(Minted.bundleID), environment: .xcode, roots: [try Minted.root(mine)])
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        var fields = TransactionFields()
        fields.environment = "Xcode"
        let forged = try [mine, other].map { try $0.forge(fields.json, .flippedSignature) }
        #expect(verifier.reason(forged[0]) == .signatureInvalid)
        #expect(verifier.reason(forged[1]) == .rootUntrusted)
    }
}
