internal import COpenSSL

/// An OpenSSL library context that knows no algorithm at all.
///
/// Parsing a certificate makes OpenSSL 3 decode its public key at once, through a chain of
/// decoders that it sets up anew each time: 100 µs and more on top of 20. A certificate parsed in
/// this context keeps its key undecoded, so a forged chain costs its parsing and no more.
@safe
struct NullLibrary: @unchecked Sendable {
    let pointer: OpaquePointer

    static let shared = NullLibrary()

    private init() {
        guard let pointer = unsafe OSSL_LIB_CTX_new(),
            unsafe OSSL_PROVIDER_load(pointer, "null") != nil
        else { preconditionFailure("libcrypto has no null provider") }
        unsafe self.pointer = unsafe pointer
    }
}
