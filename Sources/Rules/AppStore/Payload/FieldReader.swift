import JSON

/// A lenient reader of members: a value of another type or out of bounds is treated as absent and counted as
/// malformed.
///
/// An explicit null is absent and not malformed.
struct FieldReader {
    private(set) var malformedFields = 0

    /// The allowed length of an identifier, which every stage uses as a key.
    static let identifierBytes = 1...255

    mutating func text(_ value: JSONValue) -> PayloadText? { accept(PayloadText(value), value) }

    mutating func identifier(_ value: JSONValue) -> PayloadText? {
        let text = PayloadText(value)
        let isBounded = text.map { Self.identifierBytes.contains($0.byteCount) } ?? false
        return accept(isBounded ? text : nil, value)
    }

    /// Reads a token; the nil UUID is absent, like null.
    mutating func token(_ value: JSONValue) -> AccountToken? {
        let text = PayloadText(value)
        if let text, text.isPlaceholderToken { return nil }
        return accept(text?.accountToken, value)
    }

    /// Reads a date, with fractions rounded down; a date outside the years 1 to 9999 is absent.
    mutating func date(_ value: JSONValue) -> Timestamp? {
        accept(value.int64RoundedDown.flatMap(Timestamp.init(boundedMilliseconds:)), value)
    }

    mutating func int32(_ value: JSONValue) -> Int32? { accept(value.int64.flatMap { Int32(exactly: $0) }, value) }

    mutating func int64(_ value: JSONValue) -> Int64? { accept(value.int64, value) }

    mutating func bool(_ value: JSONValue) -> Bool? { accept(value.bool, value) }

    mutating func object(_ value: JSONValue) -> JSONValue? { accept(value.kind == .object ? value : nil, value) }

    /// Counts a value of another kind as malformed.
    mutating func check(_ value: JSONValue, is kind: FieldKind) {
        switch kind {
        case .text: _ = text(value)
        case .identifier: _ = identifier(value)
        case .date: _ = date(value)
        case .int32: _ = int32(value)
        case .int64: _ = int64(value)
        case .object: _ = object(value)
        case .array: _ = accept(value.kind == .array ? value : nil, value)
        }
    }

    /// Adds the malformed fields of a nested object.
    mutating func add(_ other: Int) { malformedFields += other }

    private mutating func accept<Field>(_ field: Field?, _ value: JSONValue) -> Field? {
        if field == nil, !value.isNull { malformedFields += 1 }
        return field
    }
}
