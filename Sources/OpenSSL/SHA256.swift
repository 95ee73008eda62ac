internal import COpenSSL

/// SHA-256 of bytes that lie together.
package enum SHA256 {
    package static func digest(_ bytes: [UInt8]) -> SHA256Digest {
        digest(bytes.span)
    }

    package static func digest(_ bytes: ArraySlice<UInt8>) -> SHA256Digest {
        digest(bytes.span)
    }

    /// One call to OpenSSL with the algorithm fetched once.
    ///
    /// It makes a context for each call (about 0.3 µs); who digests many records keeps a
    /// `SHA256Hasher`.
    package static func digest(_ bytes: Span<UInt8>) -> SHA256Digest {
        var words = InlineArray<4, UInt64>(repeating: 0)
        var span = words.mutableSpan
        let status = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe span.withUnsafeMutableBytes { output in
                unsafe EVP_Digest(
                    input.baseAddress,
                    input.count,
                    output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    nil,
                    DigestAlgorithm.sha256.pointer,
                    nil
                )
            }
        }
        precondition(status == 1, "libcrypto cannot compute SHA-256")
        return SHA256Digest(words: words)
    }
}
