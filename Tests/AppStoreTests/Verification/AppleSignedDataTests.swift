import AppStore
import TestSupport
import Testing
import Simulation

/// The signed data cases of Apple's libraries (D1 to D10) on the files that they ship.
@Suite(.needsSharedData) struct AppleSignedDataTests {
    /// The verdict of each case by both libraries.
    static let cases: [AppleCase] = [
        AppleCase("D1 testAppStoreServerNotificationDecoding", apple: "TEST", ours: nil),
        AppleCase(
            "D2 testWrongEnvironmentForServerNotification", apple: "INVALID_ENVIRONMENT", ours: .environmentMismatch),
        AppleCase(
            "D3 testMissingX5CHeader", apple: "VERIFICATION_FAILURE", ours: .x5cMissing,
            difference: "the reason names the defect"),
        AppleCase(
            "D4 testWrongBundleIdForServerNotification", apple: "INVALID_APP_IDENTIFIER", ours: .payloadMalformed,
            difference: "the mock has no signed date, which is asked for before the bundle"),
        AppleCase(
            "D5 testWrongAppAppleIdForNotification", apple: "INVALID_APP_IDENTIFIER", ours: .environmentMismatch,
            difference: "the mock is of Sandbox, where the number is not compared"),
        AppleCase(
            "D6 testWrongBundleIdForTransaction", apple: "INVALID_APP_IDENTIFIER", ours: .payloadMalformed,
            difference: "the mock has no transactionId, so it is no transaction"),
        AppleCase(
            "D7 testRenewalInfoDecoding", apple: "Sandbox", ours: .payloadMalformed,
            difference: "the mock has no mark of a renewal info"),
        AppleCase(
            "D8 testTransactionInfoDecoding", apple: "Sandbox", ours: .payloadMalformed,
            difference: "the mock has no transactionId, so it is no transaction"),
        AppleCase("D9 testMalformedJWTWithTooManyParts", apple: "VERIFICATION_FAILURE", ours: .jwsMalformed),
        AppleCase("D10 testMalformedJWTWithMalformedData", apple: "VERIFICATION_FAILURE", ours: .jwsMalformed),
    ]

    static func body(_ name: String) throws -> [UInt8] {
        switch name.prefix(3) {
        case "D1 ", "D2 ", "D5 ": try mock("testNotification")
        case "D3 ": try mock("missingX5CHeaderClaim")
        case "D4 ": try mock("wrongBundleId")
        case "D6 ", "D8 ": try mock("transactionInfo")
        case "D7 ": try mock("renewalInfo")
        case "D9 ": Array("a.b.c.d".utf8)
        default: Array("a.b.c".utf8)
        }
    }

    static func verifier(_ name: String) throws -> Verifier {
        switch name.prefix(3) {
        case "D2 ": try AppleLibrary.verifier(environment: .production)
        case "D5 ": try AppleLibrary.verifier(environment: .production, appAppleID: 1235)
        case "D6 ": try AppleLibrary.verifier(bundleID: "com.example.x")
        default: try AppleLibrary.verifier()
        }
    }

    static func mock(_ name: String) throws -> [UInt8] { try AppleLibrary.file("mock_signed_data/\(name)") }

    @Test(arguments: cases) func `each signed-data case of Apple's library has our verdict`(testCase: AppleCase) throws
    {
        let verifier = try Self.verifier(testCase.name)
        #expect(verifier.reason(try Self.body(testCase.name)) == testCase.ours)
    }

    @Test func `D1 the notification is read as by Apple's library`() throws {
        let body = try Self.mock("testNotification")
        let item = try #require(try AppleLibrary.verifier().items(body).first)
        #expect(item.observedNotification?.type == "TEST")
        #expect(item.environment == .sandbox && item.bundleID == "com.example")
        #expect(item.verification.signedDate.milliseconds == 1_681_314_324_000)
    }

    /// The cases whose mocks lack fields that are required here, on payloads that have them.
    @Test func `D4 to D8 with whole payloads`() throws {
        let verifier = try Minted.verifier()
        let notification = try Minted.notification { $0.bundleID = "com.example.wrong" }
        #expect(verifier.reason(notification) == .bundleMismatch)
        let otherApp = try Minted.notification { $0.appAppleID = 1235 }
        #expect(verifier.reason(otherApp) == .appMismatch)
        let transaction = try Minted.transaction { $0.bundleID = "com.example.x" }
        #expect(verifier.reason(transaction) == .bundleMismatch)
        let renewal = try verifier.items(try Minted.renewal { $0.environment = "Sandbox" })
        #expect(renewal.first?.environment == .sandbox)
        let accepted = try verifier.items(try Minted.transaction { $0.environment = "Sandbox" })
        #expect(accepted.first?.environment == .sandbox)
    }

    @Test func `R3 legacyTransaction: recognised as a receipt, and not verified`() throws {
        let verifier = try AppleLibrary.verifier()
        let text = try Self.mock("legacyTransaction")
        #expect(verifier.reason(text) == .receiptUnsupported)
        let refusal = try verifier.refusal(Body.receipt(text))
        #expect(refusal.reason == .receiptUnsupported)
        #expect(refusal.unverified.transactionID == "33993399")
    }

    @Test(
        arguments: [
            ("testLeaf", "testIntermediate", nil), ("testInvalidOIDLeaf", "testIntermediate", .certificatePurpose),
            ("testInvalidIntermediateLeaf", "testInvalidOIDIntermediate", .certificatePurpose),
            // Both intermediates have one name and one key, so this one has issued the leaf too.
            ("testInvalidIntermediateLeaf", "testIntermediate", nil),
        ] as [(String, String, RefusalReason?)]) func `the library's certificates`(
            leaf: String, intermediate: String, reason: RefusalReason?
        ) throws
    {
        let body = try AppleLibrary.signed(
            AppleLibrary.payload(signedAt: 1_700_000_000), leaf: leaf, intermediate: intermediate)
        #expect(try AppleLibrary.verifier().reason(body) == reason)
    }
}
