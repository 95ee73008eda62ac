internal import COpenSSL

extension PrivateKey {
    /// The key in its traditional form (RFC 5915, RFC 8017), for programs that read files.
    package var pem: String {
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PrivateKey(key.pointer, &output)
        guard let start = unsafe output, count > 0 else { return "" }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        let label = if case .rsa = kind { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" }
        let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
        return PEM.encode(bytes, label: label)
    }
}
