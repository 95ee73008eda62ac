extension JSONParser {
    /// Reads `-`? integer fraction? exponent?, as RFC 8259 §6 writes them.
    mutating func readNumber(_ input: Span<UInt8>) throws(JSONError) {
        let start = position
        if input[position] == UInt8(ascii: "-") {
            position += 1
        }
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
            if position < input.count
                && (input[position] == UInt8(ascii: "+") || input[position] == UInt8(ascii: "-"))
            {
                position += 1
            }
            try readDigits(input)
        }
        try append(.number, from: start, to: position)
    }

    /// Reads one digit or more.
    private mutating func readDigits(_ input: Span<UInt8>) throws(JSONError) {
        guard position < input.count else { throw fault(.unexpectedEnd) }
        var index = position
        while index < input.count && input[index] &- UInt8(ascii: "0") < 10 {
            index += 1
        }
        guard index > position else { throw fault(.numberMalformed) }
        position = index
    }
}
