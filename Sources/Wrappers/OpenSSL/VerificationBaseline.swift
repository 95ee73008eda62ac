internal import COpenSSL

/// The cost of ES256 with OpenSSL alone, for comparison with the verifier in the benchmark.
///
/// The work is one SHA-256 and one P-256 verification, with contexts made once and the signature in OpenSSL's form.
/// Two threads must not use a baseline at the same time.
@safe package final class VerificationBaseline {
    private let key: P256PublicKey
    private let context: Handle<Resource.KeyContext>
    private let digestContext: Handle<Resource.DigestContext>

    package init(key: P256PublicKey) {
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.key.pointer, nil)
        let madeDigest = unsafe EVP_MD_CTX_new()
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            let digestContext = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: madeDigest),
            unsafe EVP_PKEY_verify_init(context.pointer) == 1,
            unsafe EVP_DigestInit_ex2(digestContext.pointer, DigestAlgorithm.sha256.pointer, nil) == 1
        else { preconditionFailure("libcrypto cannot verify ECDSA on P-256") }
        self.key = key
        self.context = context
        self.digestContext = digestContext
    }

    /// - Parameter der: the signature in OpenSSL's form.
    package func verify(der: [UInt8], over message: [UInt8]) -> Bool {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
            let isDigested = unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestInit_ex2(digestContext.pointer, nil, nil) == 1
                    && EVP_DigestUpdate(digestContext.pointer, message.baseAddress, message.count) == 1
                    && EVP_DigestFinal_ex(digestContext.pointer, digest.baseAddress, nil) == 1
            }
            let status = unsafe der.withUnsafeBufferPointer { der in
                unsafe EVP_PKEY_verify(context.pointer, der.baseAddress, der.count, digest.baseAddress, digest.count)
            }
            return isDigested && status == 1
        }
    }
}
