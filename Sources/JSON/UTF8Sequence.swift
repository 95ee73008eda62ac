/// Well-formed UTF-8 as RFC 3629 §4 defines it: no overlong forms, no surrogates, no more than
/// U+10FFFF.
enum UTF8Sequence {
    /// The length of the well-formed sequence at a position; 0 where there is none.
    static func length(in input: Span<UInt8>, at position: Int) -> Int {
        let first = input[position]
        switch first {
        case 0x00...0x7F:
            return 1
        case 0xC2...0xDF:
            return hasContinuations(input, position, 2, 0x80...0xBF)
        case 0xE0:
            return hasContinuations(input, position, 3, 0xA0...0xBF)
        case 0xED:
            return hasContinuations(input, position, 3, 0x80...0x9F)
        case 0xE1...0xEF:
            return hasContinuations(input, position, 3, 0x80...0xBF)
        case 0xF0:
            return hasContinuations(input, position, 4, 0x90...0xBF)
        case 0xF1...0xF3:
            return hasContinuations(input, position, 4, 0x80...0xBF)
        case 0xF4:
            return hasContinuations(input, position, 4, 0x80...0x8F)
        default:
            return 0
        }
    }

    static func isWellFormed(_ input: Span<UInt8>) -> Bool {
        var position = 0
        while position < input.count {
            let length = length(in: input, at: position)
            guard length > 0 else { return false }
            position += length
        }
        return true
    }

    private static func hasContinuations(
        _ input: Span<UInt8>,
        _ position: Int,
        _ length: Int,
        _ second: ClosedRange<UInt8>
    ) -> Int {
        guard position + length <= input.count, second.contains(input[position + 1]) else {
            return 0
        }
        for index in position + 2..<position + length where input[index] & 0xC0 != 0x80 {
            return 0
        }
        return length
    }
}
