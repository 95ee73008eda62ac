internal import COpenSSL

/// A private key, for requests to Apple's server and for temporary certificate authorities in tests, the demo and the
/// benchmark.
///
/// A key is immutable, so threads may share it.
@safe package final class PrivateKey: @unchecked Sendable {
    package enum Algorithm: Hashable, Sendable {
        case p256
        case p384
        case p521
        /// A key on P-256 whose curve is specified parameter by parameter, which RFC 5480 forbids.
        case p256ExplicitParameters
        case rsa(bits: Int)
    }

    let key: Handle<Resource.Key>

    package static func generate(_ algorithm: Algorithm) throws(KeyError) -> PrivateKey {
        defer { ERR_clear_error() }
        let name = if case .rsa = algorithm { "RSA" } else { "EC" }
        let made = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            unsafe EVP_PKEY_keygen_init(context.pointer) == 1, unsafe configure(context.pointer, for: algorithm)
        else { throw .notGenerated }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context.pointer, &key) == 1, let key = unsafe key else { throw .notGenerated }
        return PrivateKey(takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key))
    }

    /// Reads the first private key of a PEM text (PKCS #8 or the traditional forms).
    ///
    /// Throws for an encrypted key: OpenSSL would ask for its password on the terminal.
    package convenience init(pem: [UInt8]) throws(KeyError) {
        defer { ERR_clear_error() }
        let key = unsafe PEM.withReader(of: pem) { reader in
            unsafe PEM_read_bio_PrivateKey(reader, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let handle = unsafe Handle<Resource.Key>(takingOwnershipOf: key) else { throw .notPEM }
        self.init(takingOwnershipOf: handle)
    }

    init(takingOwnershipOf key: consuming Handle<Resource.Key>) { self.key = key }

    package var kind: KeyKind { unsafe KeyKind(of: key.pointer) }

    /// The public key.
    ///
    /// `nil` if this is not a key on P-256.
    package var p256PublicKey: P256PublicKey? {
        guard unsafe EVP_PKEY_up_ref(key.pointer) == 1 else { return nil }
        return P256PublicKey(takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key.pointer))
    }

    private static func configure(_ context: OpaquePointer, for algorithm: Algorithm) -> Bool {
        switch algorithm {
        case .p256: unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
        case .p384: unsafe EVP_PKEY_CTX_set_group_name(context, "P-384") == 1
        case .p521: unsafe EVP_PKEY_CTX_set_group_name(context, "P-521") == 1
        case .p256ExplicitParameters:
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
                && EVP_PKEY_CTX_set_ec_param_enc(context, OPENSSL_EC_EXPLICIT_CURVE) == 1
        case .rsa(let bits): unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1
        }
    }
}

extension PrivateKey {
    /// Signs the SHA-256 of `message` for ES256: r and s, 32 bytes each (IEEE P1363).
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard kind == .p256 else { throw .notP256 }
        return try P256SignatureBytes.raw(fromDER: sign(message, digest: .sha256))
    }

    /// Signs in OpenSSL's own form: DER for a key on a curve, PKCS #1 v1.5 for RSA.
    package func sign(_ message: [UInt8], digest: SignatureDigest) throws(KeyError) -> [UInt8] {
        defer { ERR_clear_error() }
        let made = unsafe EVP_MD_CTX_new()
        guard let context = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: made),
            let name = digest.opensslName,
            unsafe EVP_DigestSignInit_ex(context.pointer, nil, name, nil, nil, key.pointer, nil) == 1
        else { throw .notSigned }
        var signature = [UInt8](repeating: 0, count: Self.signatureBytesMax)
        var count = signature.count
        let status = unsafe signature.withUnsafeMutableBufferPointer { output in
            unsafe message.withUnsafeBufferPointer { input in
                unsafe EVP_DigestSign(context.pointer, output.baseAddress, &count, input.baseAddress, input.count)
            }
        }
        guard status == 1 else { throw .notSigned }
        signature.removeSubrange(count...)
        return signature
    }

    /// Maximum bytes of a signature, enough for RSA with 8,192 bits.
    private static let signatureBytesMax = 1_024

    /// The public key as SubjectPublicKeyInfo.
    package var subjectPublicKeyInfo: [UInt8] { unsafe OctetBytes.encoded { unsafe i2d_PUBKEY(key.pointer, $0) } }

    /// The identifier of the key in key identifier extensions (RFC 7093 §2, method 1).
    package var keyIdentifier: [UInt8] { Array(SHA256.digest(subjectPublicKeyInfo).bytes.prefix(20)) }
}

/// The reason why a private key could not be generated, read or used.
package enum KeyError: Error, Hashable, Sendable {
    /// OpenSSL's libcrypto failed to generate the key.
    case notGenerated
    /// The text has no PEM block with an unencrypted private key.
    case notPEM
    /// OpenSSL's libcrypto failed to sign with the key.
    case notSigned
    /// The operation requires a key on P-256.
    case notP256
}

extension KeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notGenerated: "no private key could be generated"
        case .notPEM: "expected PEM with a private key that is not encrypted"
        case .notSigned: "the private key does not sign"
        case .notP256: "expected a private key on the curve P-256"
        }
    }
}
