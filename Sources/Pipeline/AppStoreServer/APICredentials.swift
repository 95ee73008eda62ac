package import AppStore
package import OpenSSL

/// The credentials with which one app sends requests in one environment.
package struct APICredentials: Sendable {
    package let bundleID: Identifier
    /// Production or Sandbox.
    package let environment: Environment
    package let issuerID: String
    package let keyID: String
    let key: PrivateKey

    /// - Parameter keyFile: the contents of the `.p8` file from App Store Connect (PKCS #8 in PEM).
    /// - Throws: `KeyError` unless the file contains an unencrypted private key on P-256.
    package init(bundleID: Identifier, environment: Environment, issuerID: String, keyID: String, keyFile: [UInt8])
        throws(KeyError)
    {
        precondition(
            [.production, .sandbox].contains(environment),
            "Apple has no server for the environment \(environment.rawValue)")
        key = try PrivateKey(pem: keyFile)
        guard key.kind == .p256 else { throw .notP256 }
        self.bundleID = bundleID
        self.environment = environment
        self.issuerID = issuerID
        self.keyID = keyID
    }
}
