internal import COpenSSL

/// Random bytes for secrets.
package enum RandomBytes {
    /// Makes bytes with OpenSSL's generator, which the system seeds.
    package static func make(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let status = unsafe RAND_bytes(&bytes, Int32(count))
        precondition(status == 1, "libcrypto cannot make random bytes")
        return bytes
    }
}

/// Comparison of secrets in a time that does not depend on the position of a difference.
package enum SecretComparison {
    /// Whether both contain the same bytes; the time depends only on their lengths.
    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// HMAC-SHA-256 (RFC 2104).
package enum HMAC {
    package static func sha256(key: [UInt8], _ message: [UInt8]) -> SHA256Digest {
        let short = key.count > blockBytes ? SHA256.digest(key).bytes : key
        let padded = short + [UInt8](repeating: 0, count: blockBytes - short.count)
        let inner = SHA256.digest(padded.map { $0 ^ 0x36 } + message)
        return SHA256.digest(padded.map { $0 ^ 0x5C } + inner.bytes)
    }

    private static let blockBytes = 64
}
