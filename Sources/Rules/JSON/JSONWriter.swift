/// A writer of one JSON text without whitespace, which inserts commas and colons itself.
///
/// Misuse (a member without a key, an object closed as an array) is a programming error and stops the process.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var open = OpenContainers()
    private var needsComma = false
    private var hasKey = false

    package init(reserving bytesExpected: Int = 256) { bytes.reserveCapacity(bytesExpected) }

    /// Continues an object from its bytes up to the end of its last member; it must have a member.
    ///
    /// - Parameter object: the object without its closing brace; only `takeBytes()` returns the text.
    package init(continuing object: consuming [UInt8]) {
        bytes = object
        open.begin(isObject: true)
        needsComma = true
    }

    /// The text so far, without a copy; the writer cannot be used afterwards.
    package consuming func takeBytes() -> [UInt8] { bytes }

    package mutating func object<E: Error>(_ body: (inout JSONWriter) throws(E) -> Void) throws(E) {
        beginObject()
        try body(&self)
        endObject()
    }

    package mutating func array<E: Error>(_ body: (inout JSONWriter) throws(E) -> Void) throws(E) {
        beginArray()
        try body(&self)
        endArray()
    }

    package mutating func beginObject() { begin(isObject: true, UInt8(ascii: "{")) }
    package mutating func endObject() { end(isObject: true, UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(isObject: false, UInt8(ascii: "[")) }
    package mutating func endArray() { end(isObject: false, UInt8(ascii: "]")) }

    package mutating func key(_ key: StaticString) {
        prepareKey()
        key.withUTF8Buffer { appendQuoted($0) }
        bytes.append(UInt8(ascii: ":"))
    }

    @_disfavoredOverload package mutating func key(_ key: String) {
        prepareKey()
        var key = key
        key.withUTF8 { appendQuoted($0) }
        bytes.append(UInt8(ascii: ":"))
    }

    package mutating func string(_ string: String) {
        let utf8 = string.utf8
        self.string(wellFormed: utf8.span)
    }

    /// - Parameter text: well-formed UTF-8.
    package mutating func string(wellFormed text: Span<UInt8>) {
        prepareValue()
        text.withUnsafeBufferPointer { appendQuoted($0) }
    }

    /// Writes a string whose characters need no escape, such as digits.
    package mutating func string(plain text: Span<UInt8>) {
        prepareValue()
        bytes.append(UInt8(ascii: "\""))
        unsafe text.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes the member only if the value is not `nil`.
    package mutating func optionalString(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// Writes the member only if the value is not `nil`.
    package mutating func optionalInt(_ name: StaticString, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        key(name)
        int(value)
    }

    /// Writes UTF-8 as a string; invalid UTF-8 becomes U+FFFD.
    package mutating func string(utf8 text: some Sequence<UInt8>) {
        let copy = Array(text)
        guard UTF8Sequence.isWellFormed(copy.span) else {
            string(String(decoding: copy, as: UTF8.self))
            return
        }
        string(wellFormed: copy.span)
    }

    package mutating func int(_ value: some BinaryInteger) {
        prepareValue()
        guard let magnitude = UInt64(exactly: value) else {
            bytes.append(contentsOf: String(value).utf8)
            return
        }
        DecimalDigits.append(magnitude, to: &bytes)
    }

    /// Writes a number, which must be finite: JSON has no other numbers.
    package mutating func double(_ value: Double) {
        precondition(value.isFinite, "JSON has no infinity and no NaN")
        prepareValue()
        bytes.append(contentsOf: value.description.utf8)
    }

    package mutating func bool(_ value: Bool) { raw((value ? "true" : "false").utf8) }

    package mutating func null() { raw("null".utf8) }

    /// Inserts a value that is already JSON, unchanged.
    package mutating func raw(_ value: some Collection<UInt8>) {
        prepareValue()
        bytes.append(contentsOf: value)
    }

    private mutating func begin(isObject: Bool, _ bracket: UInt8) {
        prepareValue()
        bytes.append(bracket)
        open.begin(isObject: isObject)
        needsComma = false
    }

    private mutating func end(isObject: Bool, _ bracket: UInt8) {
        precondition(open.isObject == isObject && !hasKey, "closes what is not open")
        open.end()
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func prepareKey() {
        precondition(open.isObject == true && !hasKey, "a key stands in an object, before its value")
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        hasKey = true
        needsComma = false
    }

    private mutating func prepareValue() {
        if let isObject = open.isObject {
            precondition(hasKey || !isObject, "a member needs a key")
        } else {
            precondition(bytes.isEmpty, "a document holds one value")
        }
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        hasKey = false
        needsComma = true
    }

    /// Escapes the characters that JSON requires, and every other control character: some terminals obey the control
    /// characters U+0080 to U+009F, and logs are read in terminals.
    ///
    /// - Parameter text: well-formed UTF-8.
    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var written = 0
        var index = Self.plainCount(text)
        while index < text.count {
            let byte = text[index]
            let isUpperControl = byte == 0xC2 && index + 1 < text.count && text[index + 1] < 0xA0
            guard
                byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
                    || isUpperControl
            else {
                index += 1
                continue
            }
            bytes.append(contentsOf: text[written..<index])
            appendEscape(isUpperControl ? text[index + 1] : byte)
            index += isUpperControl ? 2 : 1
            written = index
        }
        bytes.append(contentsOf: text[written...])
        bytes.append(UInt8(ascii: "\""))
    }

    /// Number of bytes at the beginning that need no escape; in nearly all texts, all bytes.
    private static func plainCount(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        var index = 0
        while index < text.count {
            let byte = text[index]
            guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            index += 1
        }
        return index
    }

    private mutating func appendEscape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 0xF)])
        }
    }
}

/// The open containers of a text that is being written: one bit each, so that few texts need an array.
private struct OpenContainers {
    /// The innermost containers, the last of them in the lowest bit.
    private var areObjects: UInt64 = 0
    /// The bits of the containers around them, once there are more than one word holds.
    private var outer: [UInt64] = []
    private var depth = 0

    /// Whether the innermost container is an object.
    ///
    /// `nil` if no container is open.
    var isObject: Bool? { depth == 0 ? nil : areObjects & 1 == 1 }

    private var fillsWords: Bool { depth > 0 && depth.isMultiple(of: UInt64.bitWidth) }

    mutating func begin(isObject: Bool) {
        if fillsWords { outer.append(areObjects) }
        areObjects = areObjects << 1 | (isObject ? 1 : 0)
        depth += 1
    }

    mutating func end() {
        areObjects >>= 1
        depth -= 1
        if fillsWords { areObjects = outer.removeLast() }
    }
}
