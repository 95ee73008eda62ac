import AppStore
import JSON
import OpenSSL
import TestSupport
import Testing
import Simulation

/// The payload decoding cases of Apple's libraries (M1 to M13), signed here with Xcode's kind of
/// certificate, as the models are of the LocalTesting environment.
@Suite(.needsSharedData) struct AppleModelTests {
    /// The verdict of each case by both libraries.
    static let cases: [(AppleCase, file: String)] = [
        (
            AppleCase(
                "M1 signedNotification", apple: "decodes", ours: .jwsMalformed,
                difference: "the JWS inside are placeholders, and here they are verified"), "signedNotification"
        ),
        (
            AppleCase(
                "M2 signedConsumptionRequestNotification", apple: "decodes", ours: .jwsMalformed,
                difference: "the JWS inside are placeholders, and here they are verified"),
            "signedConsumptionRequestNotification"
        ), (AppleCase("M3 signedSummaryNotification", apple: "decodes", ours: nil), "signedSummaryNotification"),
        (
            AppleCase(
                "M4 signedExternalPurchaseTokenNotification", apple: "environment Production",
                ours: .environmentMismatch,
                difference: "the test overrides the check; here Production is not configured"),
            "signedExternalPurchaseTokenNotification"
        ),
        (
            AppleCase(
                "M5 signedExternalPurchaseTokenSandboxNotification", apple: "environment Sandbox",
                ours: .environmentMismatch, difference: "the test overrides the check; here Sandbox is not configured"),
            "signedExternalPurchaseTokenSandboxNotification"
        ), (AppleCase("M6 signedTransaction", apple: "decodes", ours: nil), "signedTransaction"),
        (
            AppleCase("M7 signedTransactionWithRevocation", apple: "decodes", ours: nil),
            "signedTransactionWithRevocation"
        ), (AppleCase("M8 signedRenewalInfo", apple: "decodes", ours: nil), "signedRenewalInfo"),
        (AppleCase("M9 appTransaction", apple: "decodes", ours: nil), "appTransaction"),
        (
            AppleCase(
                "M10 decodedRealtimeRequest", apple: "decodes", ours: .payloadMalformed,
                difference: "a Retention Messaging request is answered by a server, not queued"),
            "decodedRealtimeRequest"
        ),
        (
            AppleCase(
                "M11 signedRescindConsentNotification", apple: "decodes", ours: .jwsMalformed,
                difference: "the app transaction inside is a placeholder, and here it is verified"),
            "signedRescindConsentNotification"
        ),
        (
            AppleCase(
                "M12 appData", apple: "decodes", ours: .payloadMalformed,
                difference: "it is a part of a notification, which nobody signs alone"), "appData"
        ),
    ]

    static let authority = Result { try CertificateAuthority.xcode() }

    static func verifier() throws -> Verifier {
        let root = try Minted.root(authority.get())
        let app = ConfiguredApp(bundleID: "com.example", environment: .localTesting, roots: [root])
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    static func model(_ name: String) throws -> [UInt8] { try AppleLibrary.file("models/\(name).json") }

    @Test(arguments: cases) func `each model of Apple's library has our verdict`(testCase: AppleCase, file: String)
        throws
    {
        let body = try Self.authority.get().sign(Self.model(file))
        #expect(try Self.verifier().reason(body) == testCase.ours)
    }

    @Test func `M6 and M7 the payload travels as it was signed`() throws {
        for name in ["signedTransaction", "signedTransactionWithRevocation"] {
            let payload = try Self.model(name)
            let body = try Self.authority.get().sign(payload)
            let item = try #require(try Self.verifier().items(body).first)
            let transaction = try #require(item.transaction)
            #expect(transaction.fields.malformedFields == 0)
            let root = try JSONDocument(parsing: payload).root
            #expect(Array(transaction.json.rawBytes) == Array(root.rawBytes))
        }
    }

    @Test(arguments: [
        ("M4", "signedExternalPurchaseTokenNotification", Environment.production),
        ("M5", "signedExternalPurchaseTokenSandboxNotification", .sandbox),
    ]) func `M4 and M5 a token's ID contains its environment`(number: String, file: String, environment: Environment)
        throws
    {
        let authority = try Minted.authority.get()
        let app = ConfiguredApp(
            bundleID: "com.example", environment: environment, appAppleID: 55555, roots: [try Minted.root(authority)],
            hasTestRootInProduction: true)
        let verifier = Verifier(configuration: VerifierConfiguration(apps: [app]))
        let item = try verifier.items(try authority.sign(Self.model(file))).first
        #expect(item?.environment == environment)
    }

    @Test func `M10 the detail explains a realtime request`() throws {
        let body = try Self.authority.get().sign(Self.model("decodedRealtimeRequest"))
        let refusal = try Self.verifier().refusal(body)
        #expect(refusal.detail.contains("Retention Messaging"))
    }

    /// Apple's Node library refuses a field of a wrong type; here it is forwarded, ignored and
    /// counted, because one odd field must not cost a customer the purchase.
    @Test func `M13 a field of a wrong type is carried and counted`() throws {
        let verifier = try Minted.verifier()
        let transaction = try Minted.transaction { $0.overrides["revocationType"] = "7" }
        let item = try #require(try verifier.items(transaction).first)
        #expect(item.malformedFields == 1)
        #expect(item.transaction?.fields.revocationType == nil)
        #expect(item.transaction?.json["revocationType"]?.int64 == 7)
        let notification = try Minted.notification {
            $0.environment = "Sandbox"
            $0.overrides["appAppleId"] = #""1234""#
        }
        #expect(try verifier.items(notification).first?.malformedFields == 1)
        let production = try Minted.notification { $0.overrides["appAppleId"] = #""1234""# }
        #expect(verifier.reason(production) == .appMismatch)
    }

    @Test(arguments: [
        "getAllSubscriptionStatusesResponse", "getNotificationHistoryResponse", "transactionHistoryResponse",
        "transactionHistoryResponseWithMalformedAppAppleId", "transactionHistoryResponseWithMalformedEnvironment",
        "transactionInfoResponse",
    ]) func `an API response is recognised by its shape, and its placeholders are not JWS`(name: String) throws {
        #expect(try Self.verifier().reason(try Self.model(name)) == .jwsMalformed)
    }
}
