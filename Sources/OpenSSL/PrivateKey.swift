internal import COpenSSL

/// A private key for throw-away certificate authorities: tests, the demo and the benchmark.
///
/// The product itself signs nothing. Immutable, so that threads may share one.
@safe
package final class PrivateKey: @unchecked Sendable {
    package enum Algorithm: Hashable, Sendable {
        case p256
        case p384
        case p521
        /// P-256 with the curve spelt out parameter by parameter, which RFC 5480 forbids.
        case p256ExplicitParameters
        case rsa(bits: Int)
    }

    let key: Handle<Resource.Key>

    package static func generate(_ algorithm: Algorithm) throws(KeyError) -> PrivateKey {
        defer { ERR_clear_error() }
        let name = if case .rsa = algorithm { "RSA" } else { "EC" }
        let made = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            unsafe EVP_PKEY_keygen_init(context.pointer) == 1,
            unsafe configure(context.pointer, for: algorithm)
        else { throw .notGenerated }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context.pointer, &key) == 1, let key = unsafe key else {
            throw .notGenerated
        }
        return PrivateKey(takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key))
    }

    /// Reads the first private key of a PEM text (PKCS #8 or the traditional forms).
    package convenience init(pem: [UInt8]) throws(KeyError) {
        defer { ERR_clear_error() }
        let key = unsafe PEM.withReader(of: pem) { reader in
            unsafe PEM_read_bio_PrivateKey(reader, nil, nil, nil)
        }
        guard let handle = unsafe Handle<Resource.Key>(takingOwnershipOf: key) else {
            throw .notPEM
        }
        self.init(takingOwnershipOf: handle)
    }

    init(takingOwnershipOf key: consuming Handle<Resource.Key>) {
        self.key = key
    }

    package var kind: KeyKind {
        unsafe KeyKind(of: key.pointer)
    }

    /// The public half, if this is a key on P-256.
    package var p256PublicKey: P256PublicKey? {
        guard unsafe EVP_PKEY_up_ref(key.pointer) == 1 else { return nil }
        return P256PublicKey(
            takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key.pointer)
        )
    }

    private static func configure(
        _ context: OpaquePointer,
        for algorithm: Algorithm
    ) -> Bool {
        switch algorithm {
        case .p256:
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
        case .p384:
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-384") == 1
        case .p521:
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-521") == 1
        case .p256ExplicitParameters:
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
                && EVP_PKEY_CTX_set_ec_param_enc(context, OPENSSL_EC_EXPLICIT_CURVE) == 1
        case .rsa(let bits):
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1
        }
    }
}
