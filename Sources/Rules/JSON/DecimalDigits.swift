/// Numbers as decimal digits, written directly to their destination instead of into a string.
enum DecimalDigits {
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        // The greatest 64-bit number has twenty digits.
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
        var first = digits.count
        var rest = number
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while rest > 0
        digits.span.extracting(first...).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }
}
