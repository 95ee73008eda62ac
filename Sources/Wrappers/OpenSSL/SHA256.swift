internal import COpenSSL

package enum SHA256 {
    package static func digest(_ bytes: [UInt8]) -> SHA256Digest { digest(bytes.span) }

    package static func digest(_ bytes: ArraySlice<UInt8>) -> SHA256Digest { digest(bytes.span) }

    /// Digests bytes in one call to OpenSSL, with the algorithm fetched once.
    ///
    /// Each call makes a context (about 0.3 µs); a caller that digests many records uses a `SHA256Hasher`.
    package static func digest(_ bytes: Span<UInt8>) -> SHA256Digest {
        var words = InlineArray<4, UInt64>(repeating: 0)
        var span = words.mutableSpan
        let status = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe span.withUnsafeMutableBytes { output in
                unsafe EVP_Digest(
                    input.baseAddress, input.count, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil,
                    DigestAlgorithm.sha256.pointer, nil)
            }
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
        return SHA256Digest(words: words)
    }
}

/// SHA-256 of bytes that arrive in pieces, in a context that is reused.
///
/// A hasher must not be used by two threads at once.
package struct SHA256Hasher: ~Copyable {
    private let context: Handle<Resource.DigestContext>

    package init() {
        guard let context = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: EVP_MD_CTX_new()) else {
            preconditionFailure("out of memory for a digest context")
        }
        self.context = context
        start()
    }

    package func update(_ bytes: [UInt8]) { update(bytes.span) }

    package func update(_ bytes: ArraySlice<UInt8>) { update(bytes.span) }

    package func update(_ bytes: Span<UInt8>) {
        let status = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe EVP_DigestUpdate(context.pointer, input.baseAddress, input.count)
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
    }

    /// Returns the digest of all bytes since the last call; the next byte begins a new digest.
    package func finish() -> SHA256Digest {
        var words = InlineArray<4, UInt64>(repeating: 0)
        var span = words.mutableSpan
        let status = unsafe span.withUnsafeMutableBytes { output in
            unsafe EVP_DigestFinal_ex(context.pointer, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
        start()
        return SHA256Digest(words: words)
    }

    private func start() {
        let status = unsafe EVP_DigestInit_ex2(context.pointer, DigestAlgorithm.sha256.pointer, nil)
        precondition(status == 1, "libcrypto cannot compute SHA-256")
    }
}

/// SHA-256 of bytes with a common beginning, which is digested once.
///
/// A prefix must not be used by two threads at once.
package final class SHA256Prefix {
    /// The context that has digested the common beginning; it is only copied.
    private let beginning: Handle<Resource.DigestContext>
    private let work: Handle<Resource.DigestContext>

    package init(_ bytes: [UInt8]) {
        guard let beginning = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: EVP_MD_CTX_new()),
            let work = unsafe Handle<Resource.DigestContext>(takingOwnershipOf: EVP_MD_CTX_new())
        else { preconditionFailure("out of memory for a digest context") }
        let status = unsafe EVP_DigestInit_ex2(beginning.pointer, DigestAlgorithm.sha256.pointer, nil)
        precondition(
            unsafe status == 1 && EVP_DigestUpdate(beginning.pointer, bytes, bytes.count) == 1,
            "libcrypto cannot compute SHA-256")
        self.beginning = beginning
        self.work = work
    }

    /// The digest of the beginning and `rest`.
    package func digest(with rest: Span<UInt8>) -> SHA256Digest {
        var words = InlineArray<4, UInt64>(repeating: 0)
        var span = words.mutableSpan
        let status = unsafe rest.withUnsafeBufferPointer { input in
            unsafe span.withUnsafeMutableBytes { output in
                unsafe EVP_MD_CTX_copy_ex(work.pointer, beginning.pointer) == 1
                    && EVP_DigestUpdate(work.pointer, input.baseAddress, input.count) == 1
                    && EVP_DigestFinal_ex(work.pointer, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
                        == 1
            }
        }
        precondition(status, "libcrypto cannot compute SHA-256")
        return SHA256Digest(words: words)
    }
}

/// SHA-1, for old receipts in tests; no decision depends on it.
package enum SHA1 {
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: 20)
        var count = 0
        let status = unsafe EVP_Q_digest(nil, "SHA1", nil, bytes, bytes.count, &output, &count)
        precondition(status == 1 && count == output.count, "libcrypto cannot compute SHA-1")
        return output
    }
}

/// A digest algorithm fetched once for the life of the process.
///
/// OpenSSL 3 looks an algorithm up by name, under locks, for each use of `EVP_sha256()`; a fetched algorithm avoids
/// that. The algorithm is never freed, because every thread may use it until the process ends.
@safe struct DigestAlgorithm: @unchecked Sendable {
    let pointer: OpaquePointer

    static let sha256 = DigestAlgorithm(named: "SHA256")

    private init(named name: String) {
        guard let pointer = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("libcrypto offers no \(name)")
        }
        unsafe self.pointer = unsafe pointer
    }
}
