/// A number of 256 bits, with the arithmetic that the limits of ECDSA on P-256 need.
struct Scalar: Equatable {
    /// The most significant word comes first.
    private var words: [UInt64]

    /// The order n of P-256 (FIPS 186-4 D.1.2.3).
    static let order = Scalar(words: [
        0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84, 0xF3B9_CAC2_FC63_2551,
    ])
    /// The x coordinate of the generator G (FIPS 186-4 D.1.2.3), which is below n.
    static let generatorX = Scalar(words: [
        0x6B17_D1F2_E12C_4247, 0xF8BC_E6E5_63A4_40F2, 0x7703_7D81_2DEB_33A0, 0xF4A1_3945_D898_C296,
    ])
    static let zero = Scalar(words: [0, 0, 0, 0])
    static let one = Scalar(words: [0, 0, 0, 1])
    /// 2²⁵⁶ − 1.
    static let largest = Scalar(words: [.max, .max, .max, .max])

    private init(words: [UInt64]) { self.words = words }

    /// Reads the first 32 bytes, big-endian.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count >= 32, "a scalar has 32 bytes")
        words = (0..<4).map { word in bytes[word * 8..<word * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    }

    init(powerOfTwo exponent: Int) {
        words = [0, 0, 0, 0]
        words[3 - exponent / 64] = 1 << (exponent % 64)
    }

    var bytes: [UInt8] { words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } } }

    var isBelowOrder: Bool { words.lexicographicallyPrecedes(Self.order.words) }

    func plus(_ other: Scalar) -> (sum: Scalar, overflows: Bool) {
        var sum = self
        var carry: UInt64 = 0
        for index in (0..<4).reversed() {
            let (partial, first) = words[index].addingReportingOverflow(other.words[index])
            let (word, second) = partial.addingReportingOverflow(carry)
            sum.words[index] = word
            carry = first || second ? 1 : 0
        }
        return (sum, carry == 1)
    }

    /// The difference modulo 2²⁵⁶.
    func minus(_ other: Scalar) -> Scalar {
        var complement = other
        for index in 0..<4 { complement.words[index] = ~complement.words[index] }
        return plus(complement).sum.plus(.one).sum
    }

    /// The number modulo n.
    var reduced: Scalar { isBelowOrder ? self : minus(.order) }

    /// The sum modulo n, of two numbers below n.
    func plusModuloOrder(_ other: Scalar) -> Scalar {
        let (sum, overflows) = plus(other)
        return overflows ? sum.minus(.order) : sum.reduced
    }

    /// The additive inverse modulo n, of a number below n.
    var negated: Scalar { self == .zero ? self : Scalar.order.minus(self) }
}
