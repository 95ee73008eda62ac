/// A JSON number in its written form: digits, the position of the point, and an exponent.
///
/// The value is `0.d₁d₂…dₙ × 10^pointPlace`, without the zeros at both ends of the digits.
struct Decimal {
    private var isNegative = false
    /// The first 19 significant digits, the maximum of a 64-bit integer.
    private var leadingDigits: UInt64 = 0
    private var digitsCount = 0
    private var pointPlace = 0

    private static let digitsHeldMax = 19
    /// Maximum exponent, above every number of digits that a document may have, and far below overflow.
    private static let exponentMax = 1 << 40

    /// - Parameter range: the range of a number that the parser has checked.
    init(_ input: Span<UInt8>, _ range: Range<Int>) {
        var index = range.lowerBound
        var isBeforePoint = true
        var zerosHeldBack = 0
        while index < range.upperBound {
            let byte = input[index]
            index += 1
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isBeforePoint = false
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                pointPlace += Self.exponent(input, index..<range.upperBound)
                index = range.upperBound
            case UInt8(ascii: "0") where digitsCount == 0: pointPlace -= isBeforePoint ? 0 : 1
            case UInt8(ascii: "0"):
                zerosHeldBack += 1
                pointPlace += isBeforePoint ? 1 : 0
            default:
                append(zeros: zerosHeldBack, then: byte - UInt8(ascii: "0"))
                zerosHeldBack = 0
                pointPlace += isBeforePoint ? 1 : 0
            }
        }
    }

    private mutating func append(zeros: Int, then digit: UInt8) {
        let held = min(zeros, max(0, Self.digitsHeldMax - digitsCount))
        for _ in 0..<held { leadingDigits *= 10 }
        digitsCount += zeros
        if digitsCount < Self.digitsHeldMax { leadingDigits = leadingDigits * 10 + UInt64(digit) }
        digitsCount += 1
    }

    private static func exponent(_ input: Span<UInt8>, _ range: Range<Int>) -> Int {
        var isNegative = false
        var value = 0
        for index in range {
            switch input[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default: value = min(exponentMax, value * 10 + Int(input[index] - UInt8(ascii: "0")))
            }
        }
        return isNegative ? -value : value
    }

    /// The number, or the next lower integer if `roundsDown`.
    ///
    /// `nil` if the result exceeds 64 bits, or if a fraction may not be rounded.
    func int64(roundsDown: Bool) -> Int64? {
        let hasFraction = digitsCount > max(0, pointPlace)
        guard roundsDown || !hasFraction else { return nil }
        guard pointPlace <= Self.digitsHeldMax || digitsCount == 0 else { return nil }
        var magnitude = digitsCount == 0 ? 0 : integerDigits
        if isNegative && hasFraction { magnitude += 1 }
        guard isNegative else { return Int64(exactly: magnitude) }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return Int64(truncatingIfNeeded: 0 &- magnitude)
    }

    /// The digits before the point, at most 19.
    private var integerDigits: UInt64 {
        guard pointPlace > 0 else { return 0 }
        var value = leadingDigits
        let heldCount = min(digitsCount, Self.digitsHeldMax)
        for _ in pointPlace..<max(pointPlace, heldCount) { value /= 10 }
        for _ in heldCount..<max(heldCount, pointPlace) { value *= 10 }
        return value
    }
}
