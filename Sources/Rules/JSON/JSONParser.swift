/// The reader's single pass, which checks the grammar and the policy, and records the position of each value.
///
/// The open containers are in a list, not on the call stack.
struct JSONParser {
    /// The next element that the grammar expects; whitespace before it is skipped.
    enum Expectation {
        case value
        case valueOrEnd
        case key
        case keyOrEnd
        case commaOrEnd
        case end
    }

    struct OpenContainer {
        let node: Int
        let isObject: Bool
        var count: UInt32 = 0
        var keys = KeyFilter()
        /// Whether the object's keys are checked at its end, with a hash table.
        var hashesKeys = false
    }

    let limits: JSONLimits
    let policy: JSONPolicy
    /// The member of the outermost object before which reading ends.
    let lastMember: StaticString?
    var nodes: [JSONNode] = []
    var open: [OpenContainer] = []
    var position = 0

    init(limits: JSONLimits, policy: JSONPolicy, lastMember: StaticString? = nil) {
        self.limits = limits
        self.policy = policy
        self.lastMember = lastMember
    }

    mutating func parse(_ input: Span<UInt8>) throws(JSONError) {
        guard input.count < UInt32.max else { throw fault(.bytesExceeded) }
        try skipByteOrderMark(input)
        nodes.reserveCapacity(min(limits.nodesMax, 8 + input.count / Self.bytesPerNodeExpected))
        open.reserveCapacity(8)
        var expected = Expectation.value
        while true {
            skipWhitespace(input)
            guard position < input.count else {
                guard expected == .end else { throw fault(.unexpectedEnd) }
                return
            }
            if let lastMember, isBefore(lastMember, input, expecting: expected) {
                _ = try close(input)
                return
            }
            expected = try step(input, expected)
        }
    }

    private static let bytesPerNodeExpected = 16

    private mutating func step(_ input: Span<UInt8>, _ expected: Expectation) throws(JSONError) -> Expectation {
        let byte = input[position]
        switch expected {
        case .value: return try readValue(input, startingWith: byte)
        case .valueOrEnd:
            guard byte != UInt8(ascii: "]") else { return try passBracket(input) }
            return try readValue(input, startingWith: byte)
        case .key: return try readKey(input, startingWith: byte)
        case .keyOrEnd:
            guard byte != UInt8(ascii: "}") else { return try passBracket(input) }
            return try readKey(input, startingWith: byte)
        case .commaOrEnd:
            let isObject = open[open.count - 1].isObject
            if byte == UInt8(ascii: ",") {
                position += 1
                return isObject ? .key : .value
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw fault(.unexpectedByte) }
            return try passBracket(input)
        case .end: throw fault(.trailingBytes)
        }
    }

    private mutating func readValue(_ input: Span<UInt8>, startingWith byte: UInt8) throws(JSONError) -> Expectation {
        if !open.isEmpty { open[open.count - 1].count += 1 }
        switch byte {
        case UInt8(ascii: "\""): try readString(input)
        case UInt8(ascii: "{"):
            try openContainer(.object)
            return .keyOrEnd
        case UInt8(ascii: "["):
            try openContainer(.array)
            return .valueOrEnd
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(input)
        case UInt8(ascii: "t"): try readLiteral(input, "true", as: .bool)
        case UInt8(ascii: "f"): try readLiteral(input, "false", as: .bool)
        case UInt8(ascii: "n"): try readLiteral(input, "null", as: .null)
        default: throw fault(byte < 0x80 ? .unexpectedByte : .notUTF8)
        }
        return open.isEmpty ? .end : .commaOrEnd
    }

    private mutating func readKey(_ input: Span<UInt8>, startingWith byte: UInt8) throws(JSONError) -> Expectation {
        guard byte == UInt8(ascii: "\"") else { throw fault(.unexpectedByte) }
        let key = nodes.count
        try readString(input)
        if policy == .strict { try checkKey(input, at: key) }
        skipWhitespace(input)
        guard position < input.count else { throw fault(.unexpectedEnd) }
        guard input[position] == UInt8(ascii: ":") else { throw fault(.unexpectedByte) }
        position += 1
        return .value
    }

    private mutating func openContainer(_ kind: JSONKind) throws(JSONError) {
        guard open.count < limits.depthMax else { throw fault(.depthExceeded) }
        open.append(OpenContainer(node: nodes.count, isObject: kind == .object))
        try append(kind, from: position, to: position + 1)
        position += 1
    }

    /// Moves past the bracket that closes the innermost container.
    private mutating func passBracket(_ input: Span<UInt8>) throws(JSONError) -> Expectation {
        position += 1
        return try close(input)
    }

    /// Closes the innermost container at the current position.
    private mutating func close(_ input: Span<UInt8>) throws(JSONError) -> Expectation {
        let container = open.removeLast()
        if container.isObject && policy == .strict { try checkHashedKeys(input, container) }
        nodes[container.node].end = UInt32(position)
        nodes[container.node].next = UInt32(nodes.count)
        nodes[container.node].count = container.count
        return open.isEmpty ? .end : .commaOrEnd
    }

    private mutating func readLiteral(_ input: Span<UInt8>, _ literal: StaticString, as kind: JSONKind)
        throws(JSONError)
    {
        let start = position
        for index in 0..<literal.utf8CodeUnitCount {
            guard position < input.count else { throw fault(.unexpectedEnd) }
            guard input[position] == literal.utf8Start[index] else { throw fault(.unexpectedByte) }
            position += 1
        }
        try append(kind, from: start, to: position)
    }

    mutating func append(
        _ kind: JSONKind, from start: Int, to end: Int, hasEscapes: Bool = false, hasLoneSurrogate: Bool = false
    ) throws(JSONError) {
        guard nodes.count < limits.nodesMax else { throw JSONError(code: .nodesExceeded, offset: start) }
        nodes.append(
            JSONNode(
                start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: nodes.count + 1), count: 0, kind: kind, hasEscapes: hasEscapes,
                hasLoneSurrogate: hasLoneSurrogate))
    }

    private mutating func skipWhitespace(_ input: Span<UInt8>) {
        var index = position
        while index < input.count {
            switch input[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default:
                position = index
                return
            }
        }
        position = index
    }

    private mutating func skipByteOrderMark(_ input: Span<UInt8>) throws(JSONError) {
        let first = input.count > 0 ? input[0] : 0
        let second = input.count > 1 ? input[1] : 0
        if (first == 0xFE && second == 0xFF) || (first == 0xFF && second == 0xFE) { throw fault(.byteOrderMark) }
        guard first == 0xEF, second == 0xBB, input.count > 2, input[2] == 0xBF else { return }
        guard policy == .grammar else { throw fault(.byteOrderMark) }
        position = 3
    }

    func fault(_ code: JSONError.Code) -> JSONError { JSONError(code: code, offset: position) }
}
