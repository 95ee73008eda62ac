/// The same numbers for the same seed, on every machine (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A version 4 UUID in lower case.
    package mutating func uuid() -> String {
        let digits = Self.hex(next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000)
        let rest = Self.hex(next() >> 2 | 0x8000_0000_0000_0000)
        let parts = [
            digits.prefix(8), digits.dropFirst(8).prefix(4), digits.dropFirst(12),
            rest.prefix(4), rest.dropFirst(4),
        ]
        return parts.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
