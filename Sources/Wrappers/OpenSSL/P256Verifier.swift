internal import COpenSSL

/// A verifier of ES256 signatures of one key, with contexts that are created once.
///
/// Setting up a verification costs OpenSSL 3 several allocations and look-ups under locks; here that happens once for
/// each key. Two threads must not use a verifier at the same time; each makes its own verifier of a shared key.
@safe package final class P256Verifier {
    package let key: P256PublicKey
    private let context: Handle<Resource.KeyContext>
    private var table: P256TableVerification?
    private let hasher = SHA256Hasher()

    /// Makes a verifier, which keeps `key` alive.
    package init(key: P256PublicKey) {
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.key.pointer, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            unsafe EVP_PKEY_verify_init(context.pointer) == 1
        else { preconditionFailure("libcrypto cannot verify ECDSA on P-256") }
        self.key = key
        self.context = context
    }

    package var hasTable: Bool { table != nil }

    /// Makes the verifier use a table of the same key.
    package func use(_ table: P256KeyTable) { self.table = P256TableVerification(table) }

    /// Verifies `signature` (r and s, 32 bytes each, IEEE P1363) over the SHA-256 of `message`.
    package func verify(signature: Span<UInt8>, over message: Span<UInt8>) -> SignatureCheck {
        if let fault = Self.fault(of: signature) { return fault }
        hasher.update(message)
        return check(signature, over: hasher.finish())
    }

    /// Verifies a signature over the SHA-256 of a known beginning and the bytes that follow.
    package func verify(signature: Span<UInt8>, over beginning: SHA256Prefix, with rest: Span<UInt8>) -> SignatureCheck
    { Self.fault(of: signature) ?? check(signature, over: beginning.digest(with: rest)) }

    package func verify(signature: [UInt8], over message: [UInt8]) -> SignatureCheck {
        verify(signature: signature.span, over: message.span)
    }

    package func verify(signature: [UInt8], over digest: SHA256Digest) -> SignatureCheck {
        Self.fault(of: signature.span) ?? check(signature.span, over: digest)
    }

    private static func fault(of signature: Span<UInt8>) -> SignatureCheck? {
        guard signature.count == P256Signature.byteCount else { return .wrongLength }
        guard P256Signature.isInRange(signature) else { return .outOfRange }
        return nil
    }

    private func check(_ signature: Span<UInt8>, over digest: SHA256Digest) -> SignatureCheck {
        if let isValid = table?.isValid(signature, over: digest) { return isValid ? .valid : .invalid }
        return verify(P256Signature(raw: signature), over: digest)
    }

    private func verify(_ signature: P256Signature, over digest: SHA256Digest) -> SignatureCheck {
        let words = digest.words
        let status = unsafe signature.withDER { der in
            unsafe words.span.withUnsafeBytes { digest in
                unsafe EVP_PKEY_verify(
                    context.pointer, der.baseAddress, der.count,
                    digest.baseAddress?.assumingMemoryBound(to: UInt8.self), digest.count)
            }
        }
        if status == 1 { return .valid }
        // A failed verification is not an OpenSSL error; only a malformed signature leaves an entry in the error
        // queue.
        if ERR_peek_error() != 0 { ERR_clear_error() }
        return .invalid
    }
}

/// The result of verifying an ES256 signature.
package enum SignatureCheck: Hashable, Sendable {
    case valid
    /// The signature is well formed, but not made by this key over these bytes.
    case invalid
    /// The value r or s is not in 1…n−1, so no key can have made the signature.
    case outOfRange
    /// The signature is not 64 bytes long.
    case wrongLength
}

/// A public key on P-256; immutable, so threads may share it.
@safe package final class P256PublicKey: @unchecked Sendable {
    let key: Handle<Resource.Key>

    /// Reads a SubjectPublicKeyInfo (DER) that occupies all of the bytes.
    ///
    /// `nil` unless the bytes are a P-256 key.
    ///
    /// The point at infinity and points off the curve are invalid keys.
    package convenience init?(subjectPublicKeyInfo der: [UInt8]) {
        defer { ERR_clear_error() }
        let decoded = unsafe Handle<Resource.Key>.decoding(der) { position, count in
            unsafe d2i_PUBKEY(nil, &position, count)
        }
        guard let handle = decoded, unsafe KeyKind(checking: handle.pointer) == .p256 else { return nil }
        self.init(takingOwnershipOf: handle)
    }

    /// Shares the certificate's key, which exists as long as the certificate or this object.
    ///
    /// - Parameter certificate: a certificate whose `keyKind` is `.p256`, which means that the key was checked.
    convenience init?(of certificate: ParsedCertificate) {
        guard let key = unsafe X509_get_pubkey(certificate.object.pointer) else {
            ERR_clear_error()
            return nil
        }
        self.init(takingOwnershipOf: unsafe Handle<Resource.Key>(takingOwnershipOf: key))
    }

    init?(takingOwnershipOf key: consuming Handle<Resource.Key>) {
        guard unsafe KeyKind(of: key.pointer) == .p256 else { return nil }
        self.key = key
    }
}
