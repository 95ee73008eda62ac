/// Writes DER elements, for the certificates that `CertificateBuilder` issues.
package enum DER {
    package static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    package static func sequence(_ parts: [[UInt8]]) -> [UInt8] { element(0x30, Array(parts.joined())) }

    package static func set(_ part: [UInt8]) -> [UInt8] { element(0x31, part) }

    /// A non-negative integer.
    package static func integer(_ value: Int) -> [UInt8] {
        precondition(value >= 0, "the builder writes no negative integers")
        var bytes: [UInt8] = []
        var rest = value
        repeat {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        } while rest > 0
        return element(0x02, bytes[0] >= 0x80 ? [0] + bytes : bytes)
    }

    package static func boolean(_ value: Bool) -> [UInt8] { element(0x01, [value ? 0xFF : 0]) }

    package static func octetString(_ bytes: [UInt8]) -> [UInt8] { element(0x04, bytes) }

    package static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        element(0x03, [unusedBits] + bytes)
    }

    package static func utf8String(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }

    /// An object identifier in dotted decimal, of at least two numbers.
    package static func objectIdentifier(_ dotted: String) -> [UInt8] {
        let numbers = dotted.split(separator: ".").compactMap { Int($0) }
        precondition(numbers.count >= 2, "an object identifier has two numbers or more")
        let bytes = [numbers[0] * 40 + numbers[1]] + numbers[2...]
        return element(0x06, bytes.flatMap(base128))
    }

    private static func base128(_ number: Int) -> [UInt8] {
        var bytes = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
