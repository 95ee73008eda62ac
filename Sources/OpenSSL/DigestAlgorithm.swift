internal import COpenSSL

/// A digest fetched once for the life of the process.
///
/// OpenSSL 3 looks an algorithm up by name, under locks, whenever it is handed `EVP_sha256()`; a
/// fetched one skips that. It is never freed, as every thread may use it until the process ends.
@safe
struct DigestAlgorithm: @unchecked Sendable {
    let pointer: OpaquePointer

    static let sha256 = DigestAlgorithm(named: "SHA256")

    private init(named name: String) {
        guard let pointer = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("libcrypto offers no \(name)")
        }
        unsafe self.pointer = unsafe pointer
    }
}
