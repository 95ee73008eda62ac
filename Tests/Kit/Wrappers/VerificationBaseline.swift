import COpenSSL

/// The cost of ES256 with OpenSSL alone, which the benchmark compares the verifier with.
///
/// The work is one SHA-256 and one P-256 verification, with contexts made once and the signature in
/// the form OpenSSL reads. Two threads must not use a baseline at once.
@safe package final class VerificationBaseline {
    private let context: OpaquePointer
    private let digestContext: OpaquePointer

    /// - Parameter der: the key on P-256 as SubjectPublicKeyInfo.
    package init(subjectPublicKeyInfo der: [UInt8]) {
        let key = unsafe der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, buffer.count)
        }
        defer { unsafe EVP_PKEY_free(key) }
        // The context keeps the key alive.
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil),
            let digestContext = unsafe EVP_MD_CTX_new(), unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_DigestInit_ex2(digestContext, EVP_sha256(), nil) == 1
        else { preconditionFailure("libcrypto cannot verify ECDSA on P-256") }
        unsafe self.context = context
        unsafe self.digestContext = digestContext
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
        unsafe EVP_MD_CTX_free(digestContext)
    }

    /// - Parameter der: the signature as OpenSSL writes it.
    package func verify(der: [UInt8], over message: [UInt8]) -> Bool {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
            let isDigested = unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestInit_ex2(digestContext, nil, nil) == 1
                    && EVP_DigestUpdate(digestContext, message.baseAddress, message.count) == 1
                    && EVP_DigestFinal_ex(digestContext, digest.baseAddress, nil) == 1
            }
            let status = unsafe der.withUnsafeBufferPointer { der in
                unsafe EVP_PKEY_verify(context, der.baseAddress, der.count, digest.baseAddress, digest.count)
            }
            return isDigested && status == 1
        }
    }
}
