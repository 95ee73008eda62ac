internal import COpenSSL

/// Verifies ES256 signatures of one key, in contexts made once.
///
/// Setting up a verification costs OpenSSL 3 several allocations and look-ups under locks; here
/// that happens once a key. Not for use by two threads at once: each makes its own of a shared key.
@safe
package final class P256Verifier {
    package let key: P256PublicKey
    private let context: Handle<Resource.KeyContext>
    private var table: P256TableVerification?
    private let hasher = SHA256Hasher()

    /// Keeps `key` alive.
    package init(key: P256PublicKey) {
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.key.pointer, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            unsafe EVP_PKEY_verify_init(context.pointer) == 1
        else { preconditionFailure("libcrypto cannot verify ECDSA on P-256") }
        self.key = key
        self.context = context
    }

    package var hasTable: Bool { table != nil }

    /// Verifies by a table of the same key from now on.
    package func use(_ table: P256KeyTable) {
        self.table = P256TableVerification(table)
    }

    /// Verifies `signature` (r and s, 32 bytes each, IEEE P1363) over the SHA-256 of `message`.
    package func verify(signature: Span<UInt8>, over message: Span<UInt8>) -> SignatureCheck {
        if let fault = Self.fault(of: signature) { return fault }
        hasher.update(message)
        return check(signature, over: hasher.finish())
    }

    package func verify(signature: [UInt8], over message: [UInt8]) -> SignatureCheck {
        verify(signature: signature.span, over: message.span)
    }

    package func verify(signature: [UInt8], over digest: SHA256Digest) -> SignatureCheck {
        Self.fault(of: signature.span) ?? check(signature.span, over: digest)
    }

    private static func fault(of signature: Span<UInt8>) -> SignatureCheck? {
        guard signature.count == P256Signature.byteCount else { return .wrongLength }
        guard P256Signature.isInRange(signature) else {
            return .outOfRange
        }
        return nil
    }

    private func check(_ signature: Span<UInt8>, over digest: SHA256Digest) -> SignatureCheck {
        if let isValid = table?.isValid(signature, over: digest) {
            return isValid ? .valid : .invalid
        }
        return verify(P256Signature(raw: signature), over: digest)
    }

    private func verify(_ signature: P256Signature, over digest: SHA256Digest) -> SignatureCheck {
        let words = digest.words
        let status = unsafe signature.withDER { der in
            unsafe words.span.withUnsafeBytes { digest in
                unsafe EVP_PKEY_verify(
                    context.pointer,
                    der.baseAddress,
                    der.count,
                    digest.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    digest.count
                )
            }
        }
        if status == 1 {
            return .valid
        }
        // A signature that does not verify is no error to OpenSSL; only a broken one leaves a word.
        if ERR_peek_error() != 0 {
            ERR_clear_error()
        }
        return .invalid
    }
}
