internal import COpenSSL

extension PrivateKey {
    /// Signs the SHA-256 of `message` for ES256: r and s, 32 bytes each (IEEE P1363).
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard kind == .p256 else { throw .notP256 }
        return try P256SignatureBytes.raw(fromDER: sign(message, digest: .sha256))
    }

    /// The signature in OpenSSL's own form: DER for a key on a curve, PKCS #1 v1.5 for RSA.
    package func sign(
        _ message: [UInt8],
        digest: SignatureDigest
    ) throws(KeyError) -> [UInt8] {
        defer { ERR_clear_error() }
        let made = unsafe EVP_MD_CTX_new()
        guard let context = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: made),
            let name = digest.opensslName,
            unsafe EVP_DigestSignInit_ex(context.pointer, nil, name, nil, nil, key.pointer, nil)
                == 1
        else { throw .notSigned }
        var signature = [UInt8](repeating: 0, count: Self.signatureBytesMax)
        var count = signature.count
        let status = unsafe signature.withUnsafeMutableBufferPointer { output in
            unsafe message.withUnsafeBufferPointer { input in
                unsafe EVP_DigestSign(
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

    /// Names the key in key identifier extensions (RFC 7093 §2, method 1).
    package var keyIdentifier: [UInt8] {
        Array(SHA256.digest(subjectPublicKeyInfo).bytes.prefix(20))
    }
}
