internal import CGMP

/// Inverses modulo a number of 256 bits; GMP computes them in a tenth of OpenSSL's time.
///
/// The numbers must be public: the computation does not run in constant time. Two threads must not use an object at
/// the same time.
@safe final class ScalarInverse {
    private let modulus = UnsafeMutablePointer<__mpz_struct>.allocate(capacity: 1)
    private let number = UnsafeMutablePointer<__mpz_struct>.allocate(capacity: 1)
    private let result = UnsafeMutablePointer<__mpz_struct>.allocate(capacity: 1)

    /// - Parameter modulus: the modulus, with the most significant byte first; not 0.
    init(modulus bytes: RawSpan) {
        unsafe cgmp_init(modulus)
        unsafe cgmp_init(number)
        unsafe cgmp_init(result)
        unsafe bytes.withUnsafeBytes { unsafe cgmp_read(modulus, $0.baseAddress, $0.count) }
    }

    deinit {
        unsafe Self.free(modulus)
        unsafe Self.free(number)
        unsafe Self.free(result)
    }

    private static func free(_ number: UnsafeMutablePointer<__mpz_struct>) {
        unsafe cgmp_clear(number)
        unsafe number.deallocate()
    }

    /// The inverse in 32 bytes, with the most significant byte first.
    ///
    /// `nil` if the number has no inverse.
    func inverse(of bytes: RawSpan) -> InlineArray<32, UInt8>? {
        unsafe bytes.withUnsafeBytes { unsafe cgmp_read(number, $0.baseAddress, $0.count) }
        guard unsafe cgmp_invert(result, number, modulus) != 0 else { return nil }
        var inverse = InlineArray<32, UInt8>(repeating: 0)
        var span = inverse.mutableSpan
        let isWritten = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe cgmp_write(result, buffer.baseAddress, buffer.count) != 0
        }
        return isWritten ? inverse : nil
    }
}
