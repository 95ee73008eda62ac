/// A JSON value that is built before it is written.
///
/// The tools build their results from it: snake_case names, times as UTC text with milliseconds, durations in seconds,
/// and null for missing values.
package indirect enum JSONContent: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    /// A string with a shorter form for people.
    case time(String, shown: String)
    case array([JSONContent])
    case object([(name: String, value: JSONContent)])
    /// A value that is already JSON text.
    case raw([UInt8])

    /// The text without whitespace.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.takeBytes()
    }

    /// Returns an object with the members of both objects.
    package static func + (first: JSONContent, second: JSONContent) -> JSONContent {
        guard case .object(let members) = first, case .object(let more) = second else {
            preconditionFailure("only objects have members")
        }
        return .object(members + more)
    }
}

extension JSONContent: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral members: (String, any JSONRepresentable)...) {
        self = .object(members.map { ($0, $1.json) })
    }
}

extension JSONContent {
    /// Copies a value that was read, to add to it; numbers beyond 64 bits and fractions stay as written.
    package init(_ value: JSONValue) {
        let written = JSONContent.raw(Array(value.rawBytes))
        self =
            switch value.kind {
            case .object: .object(value.members.map { ($0.key.string ?? "", JSONContent($0.value)) })
            case .array: .array(value.elements.map { JSONContent($0) })
            case .string: value.string.map { .string($0) } ?? written
            case .number: value.int64.map { .int($0) } ?? written
            case .bool, .null: value.bool.map { .bool($0) } ?? .null
            }
    }
}

extension JSONWriter {
    package mutating func value(_ content: JSONContent) {
        switch content {
        case .null: null()
        case .bool(let value): bool(value)
        case .int(let value): int(value)
        case .double(let value): double(value)
        case .string(let text), .time(let text, _): string(text)
        case .raw(let bytes): raw(bytes)
        case .array(let elements): array { writer in elements.forEach { writer.value($0) } }
        case .object(let members):
            object { writer in
                for (name, value) in members {
                    writer.key(name)
                    writer.value(value)
                }
            }
        }
    }
}

/// A type with a single form in JSON.
package protocol JSONRepresentable: SendableMetatype {
    /// Whether all of the type's values except null are numbers, which a table aligns at the right.
    static var isNumber: Bool { get }

    var json: JSONContent { get }
}

extension JSONRepresentable { package static var isNumber: Bool { false } }

extension JSONContent: JSONRepresentable { package var json: JSONContent { self } }

extension String: JSONRepresentable { package var json: JSONContent { .string(self) } }

extension Bool: JSONRepresentable { package var json: JSONContent { .bool(self) } }

extension Int: JSONRepresentable {
    package static var isNumber: Bool { true }
    package var json: JSONContent { .int(Int64(self)) }
}

extension Int64: JSONRepresentable {
    package static var isNumber: Bool { true }
    package var json: JSONContent { .int(self) }
}

extension Int32: JSONRepresentable {
    package static var isNumber: Bool { true }
    package var json: JSONContent { .int(Int64(self)) }
}

extension Double: JSONRepresentable {
    package static var isNumber: Bool { true }
    package var json: JSONContent { .double(self) }
}

extension Duration: JSONRepresentable {
    package static var isNumber: Bool { true }
    /// The duration in seconds, rounded to milliseconds.
    package var json: JSONContent { .double((self / .milliseconds(1)).rounded() / 1_000) }
}

extension Optional: JSONRepresentable where Wrapped: JSONRepresentable {
    package static var isNumber: Bool { Wrapped.isNumber }
    package var json: JSONContent { map(\.json) ?? .null }
}

extension Array: JSONRepresentable where Element: JSONRepresentable {
    package var json: JSONContent { .array(map(\.json)) }
}

extension Dictionary: JSONRepresentable where Key == String, Value: JSONRepresentable {
    /// An object with the members sorted by name.
    package var json: JSONContent { .object(sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) }) }
}
