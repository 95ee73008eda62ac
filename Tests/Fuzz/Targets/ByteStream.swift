/// The bytes of an input, continued without end by a generator that the input seeds.
///
/// However short an input is, a target reads as many bytes as it needs, and the same input always
/// means the same.
struct ByteStream {
    private let input: [UInt8]
    private var index = 0
    private var state: UInt64

    init(_ input: [UInt8]) {
        self.input = input
        // FNV-1a.
        state = input.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    mutating func next() -> UInt8 {
        if index < input.count {
            defer { index += 1 }
            return input[index]
        }
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return UInt8(truncatingIfNeeded: (mixed ^ mixed >> 31) >> 56)
    }

    mutating func next(_ count: Int) -> [UInt8] { (0..<count).map { _ in next() } }

    mutating func scalar() -> Scalar { Scalar(next(32)) }

    mutating func element<Element>(of list: [Element]) -> Element { list[Int(next()) % list.count] }
}
