internal import COpenSSL

/// An ECDSA signature on P-256, converted on the stack from r ‖ s into the DER that OpenSSL reads.
struct P256Signature {
    static let byteCount = 64
    private static let scalarBytes = 32

    /// The DER of a SEQUENCE with two INTEGERs of up to 33 bytes: at most 72 bytes.
    private var der = InlineArray<72, UInt8>(repeating: 0)
    private var derCount = 2

    /// The order n of P-256 (FIPS 186-4 D.1.2.3), big-endian.
    private static let order: InlineArray<4, UInt64> = [
        0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84, 0xF3B9_CAC2_FC63_2551,
    ]

    /// Whether r and s are both in 1…n−1; `raw` must have 64 bytes.
    static func isInRange(_ raw: Span<UInt8>) -> Bool { isScalar(raw, at: 0) && isScalar(raw, at: scalarBytes) }

    /// Converts `raw`, which must have 64 bytes.
    init(raw: Span<UInt8>) {
        append(raw, at: 0)
        append(raw, at: Self.scalarBytes)
        der[0] = 0x30
        der[1] = UInt8(derCount - 2)
    }

    func withDER<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        unsafe der.span.extracting(0..<derCount).withUnsafeBufferPointer(body)
    }

    private static func isScalar(_ raw: Span<UInt8>, at start: Int) -> Bool {
        var isZero = true
        var isBelow = false
        var isAbove = false
        for index in 0..<4 {
            let word = word(raw, at: start + index * 8)
            isZero = isZero && word == 0
            if !isBelow && !isAbove {
                isBelow = word < order[index]
                isAbove = word > order[index]
            }
        }
        return isBelow && !isZero
    }

    private static func word(_ raw: Span<UInt8>, at start: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in start..<start + 8 { word = word << 8 | UInt64(raw[index]) }
        return word
    }

    /// Writes an INTEGER, without leading zeros except a zero that keeps the number positive.
    private mutating func append(_ raw: Span<UInt8>, at start: Int) {
        var first = start
        let end = start + Self.scalarBytes
        while first < end - 1 && raw[first] == 0 { first += 1 }
        let needsZero = raw[first] >= 0x80
        der[derCount] = 0x02
        der[derCount + 1] = UInt8(end - first + (needsZero ? 1 : 0))
        derCount += needsZero ? 3 : 2
        for index in first..<end {
            der[derCount] = raw[index]
            derCount += 1
        }
    }
}

/// Conversion of the DER that OpenSSL signs into the r ‖ s of a JWS.
enum P256SignatureBytes {
    static func raw(fromDER der: [UInt8]) throws(KeyError) -> [UInt8] {
        let decoded = unsafe Handle<Resource.Signature>.decoding(der) { position, count in
            unsafe d2i_ECDSA_SIG(nil, &position, count)
        }
        guard let signature = decoded else { throw .notSigned }
        var raw = [UInt8](repeating: 0, count: P256Signature.byteCount)
        let isWritten = unsafe raw.withUnsafeMutableBufferPointer { output in
            guard let start = output.baseAddress else { return false }
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature.pointer), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature.pointer), start + 32, 32) == 32
        }
        guard isWritten else { throw .notSigned }
        return raw
    }
}
