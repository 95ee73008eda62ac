/// Why a private key could not be made, read or used.
package enum KeyError: Error, Hashable, Sendable {
    /// libcrypto refused to generate it.
    case notGenerated
    /// No PEM block with an unencrypted private key.
    case notPEM
    /// libcrypto refused to sign with it.
    case notSigned
    /// The operation wants a key on P-256.
    case notP256
}
