extension JSONParser {
    /// Reads a string from its opening quote to its closing quote, and checks that it is UTF-8.
    mutating func readString(_ input: Span<UInt8>) throws(JSONError) {
        let start = position
        var hasEscapes = false
        var hasLoneSurrogate = false
        position += 1
        while true {
            position = Self.endOfPlainText(input, from: position)
            guard position < input.count else { throw fault(.unexpectedEnd) }
            let byte = input[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                try append(
                    .string, from: start, to: position, hasEscapes: hasEscapes, hasLoneSurrogate: hasLoneSurrogate)
                return
            } else if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                let isPaired = try readEscape(input)
                hasLoneSurrogate = hasLoneSurrogate || !isPaired
            } else if byte < 0x20 {
                throw fault(.controlCharacter)
            } else {
                let length = UTF8Sequence.length(in: input, at: position)
                guard length > 0 else { throw fault(.notUTF8) }
                position += length
            }
        }
    }

    /// The index of the first byte that is a quote, a backslash, a control character or not ASCII.
    ///
    /// The function compares eight bytes at a time: each term sets the top bit of a matching byte. A borrow can set
    /// wrong bits only above a correct one, so the lowest bit counts.
    static func endOfPlainText(_ input: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var index = start
        let bytes = input.bytes
        while index + 8 <= input.count {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let controls = (word &- (ones &* 0x20)) & ~word
            let special = word | controls | ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
            let found = special & tops
            guard found == 0 else { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < input.count {
            let byte = input[index]
            guard byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5C else { return index }
            index += 1
        }
        return index
    }

    /// Reads one escape, or the two escapes of a surrogate pair; false for a lone surrogate.
    private mutating func readEscape(_ input: Span<UInt8>) throws(JSONError) -> Bool {
        guard position + 1 < input.count else {
            position = input.count
            throw fault(.unexpectedEnd)
        }
        switch input[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
            return true
        case UInt8(ascii: "u"): return try readUnicodeEscape(input)
        default: throw fault(.escapeMalformed)
        }
    }

    private mutating func readUnicodeEscape(_ input: Span<UInt8>) throws(JSONError) -> Bool {
        guard let unit = UnicodeEscape.unit(in: input, at: position) else { throw fault(.escapeMalformed) }
        guard unit != 0 || policy == .grammar else { throw fault(.nulInString) }
        guard UnicodeEscape.isSurrogate(unit) else {
            position += UnicodeEscape.length
            return true
        }
        if UnicodeEscape.isLeading(unit),
            let other = UnicodeEscape.unit(in: input, at: position + UnicodeEscape.length),
            UnicodeEscape.isTrailing(other)
        {
            position += 2 * UnicodeEscape.length
            return true
        }
        guard policy == .grammar else { throw fault(.loneSurrogate) }
        position += UnicodeEscape.length
        return false
    }
}

extension JSONParser {
    /// Reads a number, `-`? integer fraction? exponent? in RFC 8259 §6.
    mutating func readNumber(_ input: Span<UInt8>) throws(JSONError) {
        let start = position
        if input[position] == UInt8(ascii: "-") { position += 1 }
        if position < input.count && input[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try readDigits(input)
        }
        if position < input.count && input[position] == UInt8(ascii: ".") {
            position += 1
            try readDigits(input)
        }
        if position < input.count && input[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < input.count && (input[position] == UInt8(ascii: "+") || input[position] == UInt8(ascii: "-"))
            {
                position += 1
            }
            try readDigits(input)
        }
        try append(.number, from: start, to: position)
    }

    /// Reads at least one digit.
    private mutating func readDigits(_ input: Span<UInt8>) throws(JSONError) {
        guard position < input.count else { throw fault(.unexpectedEnd) }
        var index = position
        while index < input.count && input[index] &- UInt8(ascii: "0") < 10 { index += 1 }
        guard index > position else { throw fault(.numberMalformed) }
        position = index
    }
}

/// Well-formed UTF-8 as in RFC 3629 §4: no overlong forms, no surrogates, nothing above U+10FFFF.
enum UTF8Sequence {
    /// The length of the well-formed sequence at a position; 0 if the bytes are not well formed.
    static func length(in input: Span<UInt8>, at position: Int) -> Int {
        let first = input[position]
        switch first {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: return hasContinuations(input, position, length: 2, second: 0x80...0xBF)
        case 0xE0: return hasContinuations(input, position, length: 3, second: 0xA0...0xBF)
        case 0xED: return hasContinuations(input, position, length: 3, second: 0x80...0x9F)
        case 0xE1...0xEF: return hasContinuations(input, position, length: 3, second: 0x80...0xBF)
        case 0xF0: return hasContinuations(input, position, length: 4, second: 0x90...0xBF)
        case 0xF1...0xF3: return hasContinuations(input, position, length: 4, second: 0x80...0xBF)
        case 0xF4: return hasContinuations(input, position, length: 4, second: 0x80...0x8F)
        default: return 0
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

    private static func hasContinuations(_ input: Span<UInt8>, _ position: Int, length: Int, second: ClosedRange<UInt8>)
        -> Int
    {
        guard position + length <= input.count, second.contains(input[position + 1]) else { return 0 }
        for index in position + 2..<position + length where input[index] & 0xC0 != 0x80 { return 0 }
        return length
    }
}
