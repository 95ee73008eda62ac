import Testing

/// Every case of the suites that Apple publishes with its server libraries
/// (github.com/apple/app-store-server-library-java, -python, -node, -swift) has a named test.
struct AppleCaseNameTests {
    private static let sources = Result {
        try SourceTree.swiftFiles(below: ["Tests/AppStoreTests", "Tests/StagesTests"]).flatMap(\.lines).joined(
            separator: "\n")
    }

    /// Chains (C) and signed data (D): our number and the name in Apple's suites.
    private static let named = [
        "C1 testValidChainWithoutOCSP", "C2 testValidChainInvalidIntermediateOIDWithoutOCSP",
        "C3 testValidChainInvalidLeafOIDWithoutOCSP", "C4 testInvalidChainLength",
        "C5 testMalformedBase64InCertificateList", "C6 testMalformedCertificateList", "C7 testMalformedRootCerts",
        "C8 testEmptyRootCertificateList", "C9 testValidChainExpired", "C10 testChainDifferentThanRootCertificate",
        "C11 testOcspResponseCaching", "C12 testOcspResponseCachingHasExpiration",
        "C13 testOcspResponseCachingWithDifferentChains", "C14 testOcspResponseCachingWithSlightlyDifferentChains",
        "C15 testAppleChainIsValidWithOCSP", "D1 testAppStoreServerNotificationDecoding",
        "D2 testWrongEnvironmentForServerNotification", "D3 testMissingX5CHeader",
        "D4 testWrongBundleIdForServerNotification", "D5 testWrongAppAppleIdForNotification",
        "D6 testWrongBundleIdForTransaction", "D7 testRenewalInfoDecoding", "D8 testTransactionInfoDecoding",
        "D9 testMalformedJWTWithTooManyParts", "D10 testMalformedJWTWithMalformedData",
    ]

    /// Xcode's data (X), the models (M) and receipts (R), which have no names there.
    private static let numbered = (1...4).map { "X\($0)" } + (1...13).map { "M\($0)" } + (1...3).map { "R\($0)" }

    /// Apple's steps of receipt validation on a device or a server, and cases missing in all four
    /// suites.
    private static let inWords = [
        "decode all attributes", "empty date = absent and 1719 as bool", "unknown attributes preserved", "wrong bundle",
        "wrong environment", "unknown receipt type", "tampered payload", "foreign root", "leaf without OID",
        "intermediate without OID", "root cert not embedded", "not base64", "not PKCS#7", "trailing bytes",
        "expired certs at creation date OK", "same with online checks fails", "no signedAttrs", "segmented content",
        "Xcode decode", "Xcode wrong bundle", "Xcode wrong environment", "extract id", "extract nil",
        "extract rejects foreign receipt",

        "bit-flipped signature", "flipped payload", "alg none/HS256", "high/zero r or s",
        "DER instead of raw signature", "63/65-byte signature", "P-384 leaf key", "x5c of 4",
        "swapped leaf/intermediate order", "self-issued intermediate without CA", "pathlen violation",
        "signedDate just outside/inside leaf validity", "signedDate missing", "payload-kind confusion", "nested JWS",
        "duplicate JSON keys", "huge header", "real Apple-signed golden tokens",
    ]

    @Test(arguments: named) func `a case with a number and a name`(name: String) throws {
        let isThere = try Self.sources.get().contains(name)
        #expect(isThere)
    }

    @Test(arguments: numbered) func `a case with a number`(number: String) throws {
        let sources = try Self.sources.get()
        let isThere = ["func `\(number) ", "\"\(number) "].contains { sources.contains($0) }
        #expect(isThere)
    }

    @Test(arguments: inWords) func `a case in words`(name: String) throws {
        let sources = try Self.sources.get()
        let isThere =
            sources.contains("\"\(name)\"")
            || sources.split(separator: "\n").contains { line in line.contains("func `") && line.contains(name) }
        #expect(isThere)
    }
}
