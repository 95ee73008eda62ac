/// Numbers as decimal digits, written where they are wanted instead of into a string of their own.
enum DecimalDigits {
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        // The most that 64 bits hold has twenty digits.
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
