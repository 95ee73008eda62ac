/// A configured app in one of Apple's environments.
package struct AppSetting: Hashable, Sendable {
    package let bundleID: String

    /// The environment: `Production`, `Sandbox`, `Xcode` or `LocalTesting`.
    package let environment: String

    /// Apple's number of the app; required in Production.
    package var appAppleID: Int64?

    /// Files of custom roots that replace Apple's pinned ones; usually empty.
    package var rootFiles: [String] = []

    /// Whether the operator allows `rootFiles` in Production.
    package var isTestRootInProduction = false

    /// The key for the App Store Server API.
    ///
    /// `nil` if Apple is not asked about this app.
    package var api: APIKeySetting?

    /// Whether Apple gets the account tokens of users for purchases that were linked otherwise.
    package var setsAccountTokens = false
    package var refundReplies = RefundReplies()
}

/// The setting that decides whether Apple's refund requests are answered.
package struct RefundReplies: Hashable, Sendable {
    /// The customers whose consent to such answers is given.
    package enum Consent: String, CaseIterable, Sendable {
        /// No request is answered.
        case never
        /// The users who have consented by `set_refund_consent`.
        case user
        /// All users but those who have refused by `set_refund_consent`, as the operator vouches.
        case all
    }

    package var consented = Consent.never
    /// The preference where no rule of the catalog holds: one of `preferences`.
    package var preference = "none"

    package static let preferences = ["none", "decline", "grant_full", "grant_prorated"]
}

/// A key of App Store Connect (Users and Access, Integrations, In-App Purchase).
package struct APIKeySetting: Hashable, Sendable {
    package let issuerID: String
    package let keyID: String
    /// The path of the private key that Apple offers for download: PKCS #8 in PEM.
    package let keyFile: String
}

/// Apple's current environments, as spelt in its data.
///
/// The database's function `is_environment` has the same list.
package enum AppleEnvironment: String, CaseIterable, Sendable {
    case production = "Production"
    case sandbox = "Sandbox"
    case xcode = "Xcode"
    case localTesting = "LocalTesting"

    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}

/// The members of an entry of `apps`, for reading and documentation.
enum AppMember: String, CaseIterable {
    case bundleID = "bundle_id"
    case environment
    case appAppleID = "app_apple_id"
    case roots
    case isTestRootInProduction = "test_root_in_production"
    case issuerID = "api_issuer_id"
    case keyID = "api_key_id"
    case keyFile = "api_key_file"
    case setsAccountTokens = "set_account_token"
    case refundReplies = "refund_replies"

    static let names = allCases.map(\.rawValue)

    /// The expected form of a value.
    var expected: String {
        switch self {
        case .bundleID: "a text of 1 to 255 bytes"
        case .environment: "one of \(AppleEnvironment.names)"
        case .appAppleID: "a positive integer"
        case .roots: "a list of one or more paths of PEM or DER files"
        case .isTestRootInProduction, .setsAccountTokens: "true or false"
        case .issuerID, .keyID: "a text of 1 to 255 bytes"
        case .keyFile: "the path of a file, a text of 1 to 255 bytes"
        case .refundReplies: "an object of consented: \(Self.consents), and preference: \(Self.preferences)"
        }
    }

    var presence: String {
        switch self {
        case .bundleID, .environment: "required"
        case .appAppleID: "required in Production"
        case .roots: "required for Xcode and LocalTesting"
        case .isTestRootInProduction, .setsAccountTokens, .refundReplies: "optional"
        case .issuerID, .keyID, .keyFile: "all three or none"
        }
    }

    var sentence: String {
        switch self {
        case .bundleID: "The app's bundle ID."
        case .environment: "Apple's environment whose purchases this entry accepts."
        case .appAppleID: "Apple ID of the app, which its Production notifications carry."
        case .roots: "Custom roots instead of Apple's pinned ones, for this app and environment alone."
        case .isTestRootInProduction: "Has to be true where `roots` are trusted for Production; logged at every start."
        case .issuerID: "Issuer ID of the App Store Connect key by which `recovery-worker` asks Apple."
        case .keyID: "ID of that key."
        case .keyFile: "The private key (.p8), which `recovery-worker` alone reads, again when it is replaced."
        case .setsAccountTokens:
            "Whether Apple gets [the tokens of users](ownership.md#tokens-for-apple) whose purchases were linked "
                + "otherwise; false unless set."
        case .refundReplies:
            "With whose consent `recovery-worker` answers Apple's [refund requests](refunds.md), nobody's unless given, "
                + "and what it prefers where the catalog has no rule."
        }
    }

    static let consents = RefundReplies.Consent.allCases.map(\.rawValue).joined(separator: ", ")
    static let preferences = RefundReplies.preferences.joined(separator: ", ")
}

extension AppSetting {
    /// The members of an entry for `deploy/SETTINGS.md`: an example and a table.
    package static var markdown: String {
        let rows = AppMember.allCases.map { member in
            "| `\(member.rawValue)` | \(member.presence) | \(member.sentence) (\(member.expected)) |\n"
        }
        return "```json\n\(example)\n```\n\n| Member | | Meaning |\n|---|---|---|\n" + rows.joined()
    }

    /// A settings file with an entry of each kind.
    package static let example = """
        {
          "apps": [
            {"bundle_id": "com.example.app", "environment": "Production",
             "app_apple_id": 1234567890,
             "api_issuer_id": "57246542-96fe-1a63-e053-0824d011072a",
             "api_key_id": "2X9R4HXF34", "api_key_file": "/etc/pipeline/api-key.p8",
             "refund_replies": {"consented": "user", "preference": "none"}},
            {"bundle_id": "com.example.app", "environment": "Sandbox", "app_apple_id": 1234567890},
            {"bundle_id": "com.example.app", "environment": "Xcode",
             "roots": ["/etc/pipeline/StoreKitTestCertificate.cer"]},
            {"bundle_id": "com.example.load-test", "environment": "Production", "app_apple_id": 1,
             "roots": ["/etc/pipeline/load-test-root.pem"], "test_root_in_production": true}
          ]
        }
        """
}
