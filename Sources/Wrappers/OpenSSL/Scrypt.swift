internal import COpenSSL

/// The password-based key derivation function scrypt (RFC 7914), which is slow and needs much memory.
package struct Scrypt: Hashable, Sendable {
    /// CPU and memory cost N: a power of two above 1; memory is 128 · N · r bytes.
    package let cost: Int
    /// Block size r.
    package let blockSize: Int
    /// Parallelization p.
    package let parallelization: Int

    /// Maximum memory of one derivation.
    package static let memoryBytesMax = 512 << 20

    /// Checks the parameters.
    ///
    /// `nil` for parameters that RFC 7914 (section 2) does not allow, or that need more than `memoryBytesMax`.
    package init?(cost: Int, blockSize: Int, parallelization: Int) {
        guard (2...(1 << 24)).contains(cost), cost.nonzeroBitCount == 1, (1...32).contains(blockSize),
            (1...16).contains(parallelization),
            128 * cost * blockSize + 128 * blockSize * parallelization <= Self.memoryBytesMax
        else { return nil }
        self.cost = cost
        self.blockSize = blockSize
        self.parallelization = parallelization
    }

    /// Derives `count` bytes.
    ///
    /// `nil` if the memory is not available.
    ///
    /// The function blocks during the computation: call it on a separate thread.
    package func derive(_ password: [UInt8], salt: [UInt8], count: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: count)
        let status = unsafe password.withUnsafeBytes { text in
            unsafe EVP_PBE_scrypt(
                text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, salt, salt.count, UInt64(cost),
                UInt64(blockSize), UInt64(parallelization), UInt64(Self.memoryBytesMax + (1 << 20)), &output, count)
        }
        guard status == 1 else {
            ERR_clear_error()
            return nil
        }
        return output
    }
}
