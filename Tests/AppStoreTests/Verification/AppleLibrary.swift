import AppStore
import OpenSSL
import TestSupport
import Simulation

/// The test data of Apple's server libraries.
enum AppleLibrary {
    static func file(_ name: String) throws -> [UInt8] { try SharedData.vector("apple-library/\(name)") }

    static func constant(_ name: String) throws -> [UInt8] { try file("chain-constants/\(name)_BASE64_ENCODED.der") }

    static func pem(_ name: String) throws -> [UInt8] { try Certificate.all(inFile: file("certs/\(name).pem"))[0].der }

    /// The library's verifier of its mock data: com.example under the test root, which is
    /// configured instead of Apple's.
    static func verifier(
        bundleID: String = "com.example", environment: Environment = .sandbox, appAppleID: Int64 = 1234,
        root: [UInt8]? = nil
    ) throws -> Verifier {
        let app = ConfiguredApp(
            bundleID: Identifier(bundleID), environment: environment, appAppleID: appAppleID,
            roots: [try Certificate(der: try root ?? file("certs/testCA.der"))], hasTestRootInProduction: true)
        return Verifier(configuration: VerifierConfiguration(apps: [app]))
    }

    /// A payload for com.example that asks for nothing but a date.
    static func payload(signedAt seconds: Int64) -> [UInt8] {
        var fields = TransactionFields()
        fields.bundleID = "com.example"
        fields.environment = "Sandbox"
        fields.signedDate = seconds * 1000
        return fields.json
    }

    /// A JWS under certificates whose key nobody has: the signature is well formed and wrong.
    ///
    /// Certificates that pass lead to `signature_invalid`, the refusal of the next rule.
    static func unsigned(_ certificates: [[UInt8]], signedAt seconds: Int64) -> [UInt8] {
        unsigned(header: CertificateAuthority.headerSegment(certificates: certificates), signedAt: seconds)
    }

    static func unsigned(header: [UInt8], signedAt seconds: Int64) -> [UInt8] {
        let signature = [UInt8](repeating: 0x11, count: 64)
        return header + Array(".".utf8) + Base64Text.url(payload(signedAt: seconds)) + Array(".".utf8)
            + Base64Text.url(signature)
    }

    /// A JWS under the library's test chain, signed with its leaf's key.
    static func signed(_ payload: [UInt8], leaf: String = "testLeaf", intermediate: String = "testIntermediate") throws
        -> [UInt8]
    {
        let header = CertificateAuthority.headerSegment(certificates: [
            try pem(leaf), try pem(intermediate), try file("certs/testCA.der"),
        ])
        let key = try PrivateKey(pem: file("certs/testLeaf.key"))
        let signed = header + Array(".".utf8) + Base64Text.url(payload)
        return signed + Array(".".utf8) + Base64Text.url(try key.sign(signed))
    }
}
