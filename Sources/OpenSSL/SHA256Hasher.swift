internal import COpenSSL

/// SHA-256 of bytes that come in pieces, in a context used over and over.
///
/// Not for use by two threads at once.
package struct SHA256Hasher: ~Copyable {
    private let context: Handle<Resource.DigestContext>

    package init() {
        guard
            let context = unsafe Handle<Resource.DigestContext>(
                takingOwnershipOf: EVP_MD_CTX_new()
            )
        else { preconditionFailure("out of memory for a digest context") }
        self.context = context
        start()
    }

    package func update(_ bytes: [UInt8]) {
        update(bytes.span)
    }

    package func update(_ bytes: ArraySlice<UInt8>) {
        update(bytes.span)
    }

    package func update(_ bytes: Span<UInt8>) {
        let status = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe EVP_DigestUpdate(context.pointer, input.baseAddress, input.count)
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
    }

    /// The digest of all that came since the last call, and a fresh start.
    package func finish() -> SHA256Digest {
        var words = InlineArray<4, UInt64>(repeating: 0)
        var span = words.mutableSpan
        let status = unsafe span.withUnsafeMutableBytes { output in
            unsafe EVP_DigestFinal_ex(
                context.pointer,
                output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nil
            )
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
        start()
        return SHA256Digest(words: words)
    }

    private func start() {
        let status = unsafe EVP_DigestInit_ex2(
            context.pointer,
            DigestAlgorithm.sha256.pointer,
            nil
        )
        precondition(status == 1, "libcrypto cannot compute SHA-256")
    }
}
