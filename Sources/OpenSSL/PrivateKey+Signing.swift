internal import COpenSSL

extension PrivateKey {
    /// Signs the SHA-256 of `message` for ES256: r and s, 32 bytes each (IEEE P1363).
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard kind == .p256 else { throw .notP256 }
        return try P256SignatureBytes.raw(fromDER: signDER(message))
    }

    /// The same signature in the DER that ES256 does not allow, to be refused by tests.
    package func signDER(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        let digest = SHA256.digest(message).bytes
        defer { ERR_clear_error() }
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
        guard let context = unsafe Handle<Resource.KeyContext>(takingOwnershipOf: made),
            unsafe EVP_PKEY_sign_init(context.pointer) == 1
        else { throw .notSigned }
        var signature = [UInt8](repeating: 0, count: Self.signatureBytesMax)
        var count = signature.count
        let status = unsafe signature.withUnsafeMutableBufferPointer { output in
            unsafe digest.withUnsafeBufferPointer { input in
                unsafe EVP_PKEY_sign(
                    context.pointer,
                    output.baseAddress,
                    &count,
                    input.baseAddress,
                    input.count
                )
            }
        }
        guard status == 1 else { throw .notSigned }
        signature.removeSubrange(count...)
        return signature
    }

    /// Room for RSA with 8,192 bits.
    private static let signatureBytesMax = 1_024

    /// The public half as SubjectPublicKeyInfo.
    package var subjectPublicKeyInfo: [UInt8] {
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PUBKEY(key.pointer, &output)
        guard let start = unsafe output, count > 0 else { return [] }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
